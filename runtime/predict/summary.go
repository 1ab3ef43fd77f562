package predict

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"pinion/runtime/logtext"
)

// Times is where the time of an ended prediction went. What is in none of its parts, the server added.
type Times struct {
	// Total is the time from admission to the end; 0 means not measured.
	Total time.Duration
	// Queue is the part in which every slot was busy, Files the part in which files were transferred, and Predict the part
	// in which the model ran.
	Queue, Files, Predict time.Duration
}

// Summary is what monitoring shows of a prediction: its record without input and output. It shares no memory with the
// prediction.
type Summary struct {
	Record
	Mode        Mode
	TraceParent string // the W3C header of its request; "" means none
	// Running is the earliest time at which a worker began it, and Worker the worker's number; zero means that none runs
	// it.
	Running time.Time
	Worker  int
}

// Overview holds the predictions that monitoring shows.
type Overview struct {
	InFlight []Summary // not ended, the oldest first
	Ended    []Summary // in every final state, the newest first, as Failed
	Failed   []Summary // the newest first; retained for longer than the others
}

const (
	maxSummaryError = 2 << 10 // bytes of its error
	maxSummaryLogs  = 4 << 10 // bytes of the end of its logs
)

// Summary returns the state of the prediction. The caller has a hold.
func (p *Prediction) Summary() Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Summary{Record: p.recordNow(), Mode: p.Request.Mode, TraceParent: p.Request.Parent()}
	s.Input, s.Output, s.Metrics, s.live = nil, nil, nil, nil
	s.ID, s.CreatedText, s.Error = strings.Clone(s.ID), "", clipText(s.Error, maxSummaryError)
	s.Logs = bytes.Clone(logtext.Tail(s.Logs, maxSummaryLogs))
	return s
}

// Ending is Summary without copies: it shares the prediction's memory. The caller has a hold.
func (p *Prediction) Ending() Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Summary{Record: p.recordNow(), Mode: p.Request.Mode, TraceParent: p.Request.Parent()}
}

// Mentions reports whether the id, the error or the trace contains text, which is in lower case.
func (s *Summary) Mentions(text string) bool {
	return slices.ContainsFunc([]string{s.ID, s.Error, s.TraceParent},
		func(part string) bool { return strings.Contains(strings.ToLower(part), text) })
}

// clipText returns a copy of the first bytes of a text.
func clipText(text string, most int) string {
	if len(text) <= most {
		return strings.Clone(text)
	}
	return logtext.ClipTo(text, most)
}

// Ended returns the retained predictions that ended last, at most n, the newest first. The caller holds each with
// TryHold before it reads it.
func (r *Registry) Ended(n int) []*Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next [len(r.retained)]int // how many of each list were taken
	n = min(n, r.retained[0].len()+r.retained[1].len())
	newest := make([]*Prediction, 0, n)
	for len(newest) < n {
		from, last := -1, retained{}
		for i := range r.retained {
			l := &r.retained[i]
			if next[i] == l.len() {
				continue
			}
			if e := l.entries[len(l.entries)-1-next[i]]; from < 0 || e.ended.After(last.ended) {
				from, last = i, e
			}
		}
		if from < 0 {
			break
		}
		next[from]++
		newest = append(newest, last.p)
	}
	return newest
}

// InFlight returns the predictions in flight that were created first, at most n, the oldest first. The caller holds
// each with TryHold before it reads it.
func (r *Registry) InFlight(n int) []*Prediction {
	type entry struct {
		p       *Prediction
		created time.Time
	}
	r.mu.Lock()
	all := make([]entry, 0, r.inFlight)
	for _, p := range r.by {
		if !p.finished {
			all = append(all, entry{p, p.Request.Created})
		}
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b entry) int { return a.created.Compare(b.created) })
	oldest := make([]*Prediction, min(n, len(all)))
	for i := range oldest {
		oldest[i] = all[i].p
	}
	return oldest
}
