package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// limits bounds what cannot be ruled out.
type limits struct {
	slots             int // predictions, or batches of them, at once in a worker
	batch             int // predictions in a batch; 0 means there are no batches
	unsent            int // finished ones that a death may cost beyond those that ran, each
	swallowed         int // of an ended batch, answers that a death may take along: those queued beyond the shared page
	behind            int // predictions that a slot may have lost behind rubbish
	refused           int // refusals in all
	foreignCoroutines int // answers with Python's warning of a canceled prediction's coroutine
	overtaken         int // by how many that came later a prediction may be overtaken, where it waits longer than
	late              time.Duration
}

// findings is what is wrong, and counts.
type findings struct {
	broken []string
	counts map[string]int
	limits limits
	*record
}

func (v *findings) complain(format string, args ...any) {
	v.broken = append(v.broken, fmt.Sprintf(format, args...))
}

// check checks everything.
func check(r *record, l limits) *findings {
	v := &findings{record: r, limits: l, counts: map[string]int{"harmed workers": len(r.harmed)}}
	for _, token := range r.foreign {
		v.complain("%s: the model was handed another prediction's file", r.tokens[token].id)
	}
	for _, token := range r.unknown {
		v.complain("the model ran %s, which no client asked for", token)
	}
	for _, p := range r.order {
		v.prediction(p)
	}
	v.casualties()
	if l.batch > 0 {
		v.batches()
	}
	v.line()
	if n := v.counts["refused"]; n > l.refused {
		v.complain("%d were refused, and no more than %d may be", n, l.refused)
	}
	if n := v.counts["warned of another's coroutine"]; n > l.foreignCoroutines {
		v.complain("%d have in their logs what Python says of another's coroutine, and no more than %d may", n,
			l.foreignCoroutines)
	}
	return v
}

func terminal(status string) bool {
	return status == "succeeded" || status == "failed" || status == "canceled"
}

// end returns the terminal state of a prediction, or nil.
func (p *prediction) end() *entry {
	for _, e := range p.observed {
		if e.Code != 0 && e.Code != 200 && e.Code != 202 {
			continue
		}
		if terminal(e.Status) {
			return e
		}
	}
	return nil
}

// refusal returns the answer that refused the prediction, or nil.
func (p *prediction) refusal() *entry {
	for _, e := range p.observed {
		if e.What == "answer" && e.Code != 200 && e.Code != 202 {
			return e
		}
	}
	return nil
}

// prediction checks one prediction.
func (v *findings) prediction(p *prediction) {
	v.counts["predictions"]++
	if len(p.runs) > 1 && v.limits.batch == 0 {
		v.complain("%s: the model began it %d times: %v", p.id, len(p.runs), p.runs)
	}
	if len(p.done) > len(p.runs) {
		v.complain("%s: the model did it %d times, and began it %d times", p.id, len(p.done), len(p.runs))
	}
	end, refusal := p.end(), p.refusal()
	if p.broken != "" && !p.left {
		v.complain("%s (%s): no answer: %s", p.id, p.asked.Mode, p.broken)
	}
	switch {
	case end != nil && refusal != nil:
		v.complain("%s: it was refused (%d %s) and is %s", p.id, refusal.Code, refusal.Error, end.Status)
	case refusal != nil:
		v.refused(p, refusal)
		return
	case end == nil && p.left:
		v.counts["never taken"]++
		v.notRun(p, "was never taken")
		return
	case end == nil:
		v.complain("%s (%s): it has no terminal state; it was observed as %s", p.id, p.asked.Mode, describe(p.observed))
		return
	}
	v.counts[end.Status]++
	v.agreement(p, end)
	v.durations(p)
	v.webhook(p)
	switch end.Status {
	case "succeeded":
		v.success(p)
	case "canceled":
		if !p.cancel && !p.left {
			v.complain("%s (%s): it was canceled, and no client asked for that", p.id, p.asked.Mode)
		}
	case "failed":
		v.failure(p, end)
	}
}

func describe(observed []*entry) string {
	var parts []string
	for _, e := range observed {
		parts = append(parts, fmt.Sprintf("%s %d %s", e.What, e.Code, e.Status))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// refused checks a prediction that was refused.
func (v *findings) refused(p *prediction, refusal *entry) {
	if v.overlaps(v.full, p.asked.At, refusal.At) && p.asked.File && refusal.Code >= 500 {
		v.counts["refused: no disk"]++
	} else {
		v.counts["refused"]++
		v.counts[fmt.Sprintf("refused with %d", refusal.Code)]++
	}
	v.notRun(p, fmt.Sprintf("was refused (%d)", refusal.Code))
}

func (v *findings) notRun(p *prediction, why string) {
	if len(p.runs) > 0 {
		v.complain("%s (%s): it %s, and the model ran it", p.id, p.asked.Mode, why)
	}
}

// agreement checks that the answer, the webhooks and every look tell the same end.
func (v *findings) agreement(p *prediction, end *entry) {
	for _, e := range p.observed {
		if e.What != "hook" && e.Code != 200 && e.Code != 202 {
			v.complain("%s: it is %s, and later not known: %d", p.id, end.Status, e.Code)
		}
		if !terminal(e.Status) {
			continue
		}
		// What was yielded before a failure stands in webhooks, and nowhere else.
		if e.Status != end.Status || e.Error != end.Error || e.Status == "succeeded" &&
			(e.Length != end.Length || e.Head != end.Head || string(e.Output) != string(end.Output)) {
			v.complain("%s: %s says %s %q, and %s %s %q", p.id, end.What, end.Status, end.Error, e.What, e.Status, e.Error)
		}
	}
	for i, e := range p.observed {
		before := p.observed[:i]
		if e.What == "look" && !terminal(e.Status) && slices.ContainsFunc(before, func(b *entry) bool {
			return b.What == "look" && terminal(b.Status)
		}) {
			v.complain("%s: it was over, and is %s", p.id, e.Status)
		}
	}
}

// webhook checks that the event completed was accepted once, and last.
func (v *findings) webhook(p *prediction) {
	if !p.asked.Hook {
		return
	}
	taken := 0
	for _, e := range p.observed {
		if e.What != "hook" {
			continue
		}
		v.counts["webhooks"]++
		if taken > 0 {
			v.complain("%s: %s is told after completed was taken in", p.id, e.Status)
		}
		if e.Taken && terminal(e.Status) {
			taken++
		}
	}
	if taken != 1 {
		v.complain("%s: its webhook took completed in %d times", p.id, taken)
	}
}

// success checks that the prediction ran to its end, once or, if a worker died, in its last run, and that its answer is
// its own.
func (v *findings) success(p *prediction) {
	if c := p.lastCall(); c != nil && !c.ended || c == nil && (len(p.runs) != 1 || len(p.done) != 1) {
		v.complain("%s: it succeeded, was begun %d times and done %d times", p.id, len(p.runs), len(p.done))
		return
	}
	if fails(p.asked.Do) {
		v.complain("%s: it raised, and succeeded", p.id)
	}
	h := v.harmed[p.last().pid]
	// asyncio, whose sockets were damaged too, may have written errors; and while a thread that is not Python's writes
	// Python's stacks at a signal, a prediction may end.
	sound := func(e *entry) bool { return h == nil || !h.rubbish && (h.dumped == 0 || e.At < h.dumped) }
	for _, e := range p.observed {
		if e.Status == "succeeded" {
			if err := own(p, e, sound(e), v.mayTalk(p)); errors.Is(err, errForeignCoroutine) {
				v.counts["warned of another's coroutine"]++
			} else if errors.Is(err, errIgnored) {
				v.counts["cancels lost in a callback"]++
			} else if err != nil {
				v.complain("%s: %s: %v", p.id, e.What, err)
			}
		}
	}
}

// mayTalk reports whether the worker of its first batch may have written more than the model's own lines.
func (v *findings) mayTalk(p *prediction) bool {
	h := v.harmed[p.runs[0].pid]
	return len(p.runs) > 1 && h != nil && (h.rubbish || h.cries || h.dumped != 0)
}

// fails reports whether the model must fail a prediction.
func fails(do string) bool {
	switch do {
	case "raise", "refuse", "before", "after":
		return true
	}
	return false
}

// overlaps reports whether a time meets one of the spans.
func (v *findings) overlaps(spans []span, from, to int64) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.from <= to && from <= s.to })
}
