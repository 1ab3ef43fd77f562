package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// call is one call of the model with several predictions.
type call struct {
	number, pid   int
	at            int64
	key           int
	members       []*prediction
	ended, raised bool
	// first is the call with which their batch began: what raised is called again in halves.
	first *call
	items []*call // of the batch, where this is its first
}

// together takes a line of the model's about a call: "batch NUMBER PID NANOSECONDS KEY TOKEN...", "raised NUMBER PID",
// "ended NUMBER PID".
func (r *record) together(f []string, pid int) error {
	number, err := strconv.Atoi(f[1])
	if err != nil {
		return fmt.Errorf("read number: %w", err)
	}
	if f[0] != "batch" {
		for _, c := range slices.Backward(r.calls) {
			if c.pid == pid && c.number == number {
				c.end(f[0] == "ended")
				return nil
			}
		}
		return fmt.Errorf("%q: it never began", f)
	}
	if len(f) < 6 {
		return fmt.Errorf("%q is not a call", f)
	}
	c := &call{number: number, pid: pid}
	if c.at, err = strconv.ParseInt(f[3], 10, 64); err != nil {
		return fmt.Errorf("read time: %w", err)
	}
	if c.key, err = strconv.Atoi(f[4]); err != nil {
		return fmt.Errorf("read key: %w", err)
	}
	for _, token := range f[5:] {
		if p := r.tokens[token]; p != nil {
			c.members = append(c.members, p)
		} else {
			r.unknown = append(r.unknown, token)
		}
	}
	r.begin(c)
	return nil
}

func (c *call) end(well bool) {
	c.ended, c.raised = well, !well
	for _, p := range c.members {
		if well {
			p.done = append(p.done, c.pid)
		}
	}
}

// begin notes a call, and to which batch it belongs.
func (r *record) begin(c *call) {
	r.calls = append(r.calls, c)
	c.first = c
	for _, p := range c.members {
		if n := len(p.calls); n > 0 && p.calls[n-1].pid == c.pid && p.calls[n-1].raised {
			c.first = p.calls[n-1].first
		} else {
			p.runs = append(p.runs, run{c.pid, c.at})
		}
		p.calls = append(p.calls, c)
	}
	c.first.items = append(c.first.items, c)
}

// lastCall returns the last call that had the prediction, or nil.
func (p *prediction) lastCall() *call {
	if len(p.calls) == 0 {
		return nil
	}
	return p.calls[len(p.calls)-1]
}

// says returns what the whole batch prints.
func (c *call) says() string {
	var b strings.Builder
	for _, part := range c.first.items {
		for _, p := range part.members {
			if p.asked.Says {
				b.WriteString(p.asked.Token + "\n")
			}
		}
	}
	return b.String()
}

// batches checks all batches.
func (v *findings) batches() {
	for _, c := range v.calls {
		v.counts["calls"]++
		v.counts["largest call"] = max(v.counts["largest call"], len(c.members))
		if len(c.members) > v.limits.batch {
			v.complain("worker %d: %d were in one batch, and no more than %d may be", c.pid, len(c.members), v.limits.batch)
		}
		bad := v.harmed[c.pid] != nil && v.harmed[c.pid].own // it may find its descriptors closed
		for i, p := range c.members {
			bad = bad || p.asked.Do == "raise"
			if p.asked.Key != c.key {
				v.complain("%s: its key is %d, and its batch has %d", p.id, p.asked.Key, c.key)
			}
			if slices.Contains(c.members[:i], p) {
				v.complain("%s: it is twice in a call", p.id)
			}
		}
		if c.raised && !bad {
			v.complain("worker %d: call %d raised, though no item in it was to", c.pid, c.number)
		}
	}
	again, unseen, single := map[int]int{}, 0, 0 // again: by worker
	for _, p := range v.order {
		if len(p.calls) == 0 && (p.cancel || p.left) {
			unseen++
		}
		v.halves(p)
		if len(p.runs) < 2 {
			continue
		}
		v.counts["tried again"]++
		again[p.runs[0].pid]++
		if len(p.calls[0].members) == 1 {
			single++
		}
		v.again(p)
	}
	// The front knows which items it sent as a batch. The model does not see those that left in time.
	v.counts["tried again after a batch of one"] = single
	if single > unseen {
		v.complain("%d that were a batch of one were tried again, and at most %d others can have left before it", single,
			unseen)
	}
	for pid, n := range again {
		most := v.limits.slots*v.limits.batch + v.limits.unsent + v.limits.swallowed
		if h := v.harmed[pid]; h != nil && h.rubbish {
			most = v.limits.slots * v.limits.behind * v.limits.batch
		}
		if n > most {
			v.complain("worker %d: %d were tried again after it, and no more than %d may", pid, n, most)
		}
	}
}

// halves checks that a batch that raised is tried again in its worker, by calls with at most half as many items, all of
// them from the call that raised.
func (v *findings) halves(p *prediction) {
	for i := 1; i < len(p.calls); i++ {
		c, before := p.calls[i], p.calls[i-1]
		if c.pid != before.pid || !before.raised {
			continue // it is another batch
		}
		v.counts["tried again in a half"]++
		if len(c.members) > (len(before.members)+1)/2 {
			v.complain("%s: %d raised, and were tried again as %d", p.id, len(before.members), len(c.members))
		}
		for _, other := range c.members {
			if !slices.Contains(before.members, other) {
				v.complain("%s: it was tried again with %s, which had not raised with it", p.id, other.id)
			}
		}
	}
}

// again checks that an item of a batch whose worker died is tried once more, in another worker, alone.
func (v *findings) again(p *prediction) {
	first, second := p.runs[0], p.runs[1]
	switch {
	case len(p.runs) > 2:
		v.complain("%s: it was in %d batches: %v", p.id, len(p.runs), p.runs)
	case first.pid == second.pid:
		v.complain("%s: it was twice in a batch of worker %d", p.id, first.pid)
	case v.harmed[first.pid] == nil && !v.overlaps(v.exhausted, first.at, second.at):
		v.complain("%s: it was tried again, and worker %d was not harmed", p.id, first.pid)
	case len(p.lastCall().members) > 1:
		v.complain("%s: it was tried again, with %d others", p.id, len(p.lastCall().members)-1)
	}
}

// raisedAlone checks that no prediction fails with the exception of another one.
func (v *findings) raisedAlone(p *prediction) {
	switch c := p.lastCall(); {
	case p.asked.Do == "raise" && c != nil && len(c.members) > 1:
		v.complain("%s: it raised with %d others, and was not tried alone", p.id, len(c.members)-1)
	case (p.asked.Do == "refuse" || p.asked.Do == "after") && (c == nil || !c.ended):
		v.complain("%s: it failed with its result, and has none", p.id)
	case p.asked.Do == "before" && c != nil:
		v.complain("%s: it failed before the model had it, and was in a batch", p.id)
	}
}
