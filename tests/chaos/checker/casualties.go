package main

import (
	"slices"
	"strings"
	"time"
)

// Errors that a failed prediction may have.
const (
	deathPrefix    = "worker " // killed …, exited …, ended …
	timedOut       = "Prediction timed out"
	noSpace        = "no space left on device"
	raised         = "ValueError: "
	whileItRan     = "while running this prediction"
	closedByItself = "Bad file descriptor"
	noFile         = "No such file or directory"
	folderRemoved  = "was removed while the prediction used it"
	outOfMemory    = "out of memory: the kernel ended it"
)

// haste is how long, in nanoseconds, after a worker was killed for taking all memory the kernel may kill another
// process: it does so while the first one is still exiting and its memory is not free yet.
const haste = int64(5e9)

// failure checks a prediction that failed.
func (v *findings) failure(p *prediction, end *entry) {
	pid := p.last().pid
	if pid != 0 && v.harmed[pid] == nil && strings.Contains(end.Error, outOfMemory) &&
		v.overlaps(v.exhausted, p.asked.At, end.At) {
		v.counts["workers that the kernel ended beside another"]++
		v.harm(pid).outside = true
	}
	h := v.harmed[pid]
	switch {
	case fails(p.asked.Do) && end.Error == raised+p.asked.Token:
		v.counts["failed by themselves"]++
		v.raisedAlone(p)
	case strings.HasPrefix(end.Error, deathPrefix):
		switch {
		case !strings.Contains(end.Error, whileItRan):
			v.complain("%s: it ended with its worker, with the words %q", p.id, end.Error)
		case pid != 0 && h == nil:
			v.complain("%s: it failed in worker %d, which was not harmed: %s", p.id, pid, end.Error)
		case pid == 0 && len(v.harmed) == 0:
			v.complain("%s: it failed with a worker, and none was harmed: %s", p.id, end.Error)
		}
	case strings.Contains(end.Error, noSpace):
		v.counts["failed: no disk"]++
		if !p.asked.File || !v.overlaps(v.full, p.asked.At, end.At) {
			v.complain("%s: there was room: %s", p.id, end.Error)
		}
	case strings.Contains(end.Error, noFile), strings.Contains(end.Error, folderRemoved):
		v.counts["failed: no file"]++
		if !p.asked.File || !v.overlaps(v.removed, p.asked.At, end.At) {
			v.complain("%s: its file was not removed: %s", p.id, end.Error)
		}
	case strings.HasPrefix(end.Error, timedOut):
		v.counts["failed by time"]++
		if h == nil {
			v.complain("%s: it timed out in worker %d, which was not harmed", p.id, pid)
		}
	case strings.Contains(end.Error, closedByItself) && h != nil && h.own:
		v.counts["failed by a closed descriptor"]++
	default:
		v.complain("%s: it failed: %q", p.id, end.Error)
	}
}

// wherever returns the processes that had the prediction, or were harmed by it.
func (p *prediction) wherever() []int {
	pids := slices.Clone(p.harms)
	for _, run := range p.runs {
		pids = append(pids, run.pid)
	}
	return pids
}

// casualties checks that the death of a worker costs those predictions that ran there, and no others.
func (v *findings) casualties() {
	begun, finished := map[int]int{}, map[int]int{} // by worker
	nowhere, unseen := 0, 0
	for _, p := range v.order {
		end := p.end()
		if end == nil {
			continue
		}
		diedWith := end.Status == "failed" && strings.HasPrefix(end.Error, deathPrefix)
		if harms := p.asked.Do != "" && !fails(p.asked.Do); diedWith || harms {
			for _, pid := range p.wherever() {
				if h := v.harmed[pid]; h != nil {
					h.until = max(h.until, end.At) // the answer of one that closed its sockets is read from memory, at the end
				}
			}
		}
		if !diedWith {
			continue
		}
		v.counts["lost with a worker"]++
		switch {
		case len(p.runs) == 0:
			nowhere++
		case p.lastCall() != nil && len(p.lastCall().first.members) > 1:
			unseen++
		case len(p.done) > 0:
			v.counts["of these done"]++
			if p.asked.Do == "" {
				v.counts["of these done by bystanders"]++
			}
			finished[p.last().pid]++
		case fails(p.asked.Do): // the model writes nothing when it raises: it may be over, and its slot another's
			finished[p.last().pid]++
		default:
			begun[p.last().pid]++
		}
	}
	v.counts["of these before the model's first line"] = nowhere
	if most := v.limits.slots * len(v.harmed); unseen > most {
		v.complain("%d were in a batch and failed with their worker, and were not tried again; only %d workers died", unseen,
			most)
	}
	total, most := nowhere+unseen, 0
	for pid, h := range v.harmed {
		diedWith := begun[pid] + finished[pid]
		total += diedWith
		allowed := v.limits.slots + v.limits.unsent
		if h.rubbish {
			allowed = v.limits.slots * v.limits.behind
		}
		most += allowed
		if excess := diedWith - v.limits.slots; excess > 0 {
			v.counts["beyond the slots of their worker"] += excess
			if h.rubbish {
				v.counts["of these behind rubbish"] += excess
			}
		}
		if diedWith > allowed {
			v.complain("worker %d (%+v): %d failed with it, %d of them done; no more than %d may", pid, *h, diedWith,
				finished[pid], allowed)
		}
		// One slot cannot have two predictions that were begun and not done.
		if begun[pid] > v.limits.slots {
			v.complain("worker %d: %d were begun and not done, in %d slots", pid, begun[pid], v.limits.slots)
		}
	}
	if total > most {
		v.complain("%d failed with their workers, %d of them before the model's first line; no more than %d may", total,
			nowhere, most)
	}
}

// line checks that predictions run first come, first served: one that was accepted, as its client has read, before
// another was sent, begins before it. An exception are those that wait in the sockets of several workers, one of which
// may get no CPU for a moment.
func (v *findings) line() {
	idle := slices.Clone(v.stopped) // spans in which what lay with a worker did not move
	for _, h := range v.harmed {
		if h.own {
			idle = append(idle, span{h.at, max(h.at, h.until)})
		}
	}
	var began []*prediction
	for _, p := range v.order {
		if len(p.runs) > 0 {
			began = append(began, p)
		}
	}
	slices.SortFunc(began, func(a, b *prediction) int { return compare(a.runs[0].at, b.runs[0].at) })
	for i, p := range began {
		taken := p.takenIn()
		if taken == 0 || p.asked.File || v.overlaps(idle, taken, p.runs[0].at) {
			continue // a file is fetched first; what lies with a worker that does not move waits for its end
		}
		v.counts["taken in before others"]++
		n := 0
		for j := i - 1; j >= 0 && began[j].runs[0].at > taken; j-- {
			if began[j].asked.At > taken {
				n++
			}
		}
		v.counts["most overtakers of one"] = max(v.counts["most overtakers of one"], n)
		if n > 0 {
			v.counts["overtaken"]++
		}
		if n > v.limits.overtaken && time.Duration(p.runs[0].at-taken) > v.limits.late {
			v.complain("%s: %d that were asked for after it was taken in began before it", p.id, n)
		}
	}
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// takenIn returns when the client knew that the server had the prediction, before it ended; 0 means it never did.
func (p *prediction) takenIn() int64 {
	for _, e := range p.observed {
		if e.What == "answer" && e.Code == 202 {
			return e.At
		}
	}
	return 0
}
