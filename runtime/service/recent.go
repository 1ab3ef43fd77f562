package service

import (
	"math"
	"slices"
	"sync"
	"time"

	"pinion/runtime/predict"
)

// Overview returns the first n predictions in flight, and the last n that ended and that failed.
func (s *Service) Overview(n int) predict.Overview {
	failed, unretained := s.ends.failed.list(), s.ends.unretained.list()
	o := predict.Overview{Ended: append(summaries(s.registry.Ended(n)), unretained...), Failed: failed}
	for _, summary := range summaries(s.registry.InFlight(n)) {
		if s.Locate(&summary); !summary.Status.Terminal() {
			o.InFlight = append(o.InFlight, summary)
		}
	}
	slices.SortStableFunc(o.Ended, func(a, b predict.Summary) int { return b.Completed.Compare(a.Completed) })
	o.Ended, o.Failed = o.Ended[:min(n, len(o.Ended))], o.Failed[:min(n, len(o.Failed))]
	return o
}

// Search returns the ended predictions with a text, in lower case, in their id, error or trace: of all that the server
// still has, the newest first and at most n. searched is how many those are.
func (s *Service) Search(text string, n int) (found []predict.Summary, searched int) {
	type key struct {
		kind      predict.Kind
		id        string
		completed time.Time
	}
	seen := map[key]bool{} // a failed one may be in two lists
	for _, p := range s.registry.Ended(math.MaxInt) {
		if !p.TryHold() {
			continue
		}
		ending := p.Ending()
		seen[key{ending.Kind, ending.ID, ending.Completed}] = true
		if ending.Mentions(text) {
			found = append(found, p.Summary())
		}
		p.Release()
	}
	for _, summary := range append(s.ends.failed.list(), s.ends.unretained.list()...) {
		if k := (key{summary.Kind, summary.ID, summary.Completed}); !seen[k] {
			seen[k] = true
			if summary.Mentions(text) {
				found = append(found, summary)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b predict.Summary) int { return b.Completed.Compare(a.Completed) })
	return found[:min(n, len(found))], len(seen)
}

// Summary returns the summary of an ended prediction that Result does not find any more.
func (s *Service) Summary(kind predict.Kind, id string) (predict.Summary, bool) {
	for _, summary := range append(s.ends.failed.list(), s.ends.unretained.list()...) {
		if summary.Kind == kind && summary.ID == id {
			return summary, true
		}
	}
	return predict.Summary{}, false
}

func summaries(predictions []*predict.Prediction) []predict.Summary {
	out := make([]predict.Summary, 0, len(predictions))
	for _, p := range predictions {
		if p.TryHold() {
			out = append(out, p.Summary())
			p.Release()
		}
	}
	return out
}

// ends are summaries of predictions that the registry does not retain, or not for long enough. A plain prediction that
// succeeds is in neither list.
type ends struct {
	failed     summaryRing
	unretained summaryRing // too large for the registry
}

// note stores the summary of a prediction that has ended. retained means that the registry has it.
func (s *Service) note(p *predict.Prediction, status predict.Status, retained bool) {
	if s.o.Summaries == 0 || status != predict.Failed && retained {
		return
	}
	summary := p.Summary()
	if s.o.Keep.TTL < 0 { // the operator wants nothing of a prediction to outlive it
		summary.Logs, summary.Error = nil, ""
	}
	if status == predict.Failed {
		s.ends.failed.add(summary, s.o.Summaries)
	}
	if !retained {
		s.ends.unretained.add(summary, s.o.Summaries)
	}
}

// summaryRing is the last summaries that were added.
type summaryRing struct {
	mu      sync.Mutex
	entries []predict.Summary
	next    int // where the next one goes, once entries has its full length
}

func (r *summaryRing) add(summary predict.Summary, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) < most {
		r.entries = append(r.entries, summary)
		return
	}
	r.entries[r.next] = summary
	r.next = (r.next + 1) % most
}

// list returns the summaries, the newest first.
func (r *summaryRing) list() []predict.Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append(slices.Clone(r.entries[r.next:]), r.entries[:r.next]...)
	slices.Reverse(out)
	return out
}
