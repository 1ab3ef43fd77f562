package ranks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// answer is what the ranks have said about one request or item.
type answer struct {
	ended    uint64   // a bit for each rank that has ended it
	first    *message // how rank 0 ended it
	failures int
	same     bool     // all failures have the same error
	failed   int      // the rank that failed first
	failure  *message // how
	error    string   // its error
	prepared int      // ranks that have prepared the item
	taken    []uint64 // items of its streamed input that each rank has taken, or nil
	batch    *batch   // that the item is in, or nil
	dropped  bool     // it was dropped since it has a batch
	sent     bool     // the front has an answer
	traced   bool     // the parts of the ranks are kept
	timers   []*time.Timer
}

func (a *answer) close() {
	a.first.close()
	a.failure.close()
	for _, t := range a.timers {
		t.Stop()
	}
}

func (r *Relay) expect(id uint64) { r.answers[id] = &answer{same: true} }

// ended handles the end of a request or item on one rank.
func (r *Relay) ended(rank int, f *ipc.Frame) error {
	a := r.answers[f.ID]
	if a == nil || a.ended&(1<<rank) != 0 {
		return fmt.Errorf("%w: an answer to %#x, which is not outstanding", ipc.ErrProtocol, f.ID)
	}
	a.ended |= 1 << rank
	m := own(f)
	if a.traced {
		r.addPart(f.ID, slot.RankPart{
			Rank: rank, Ended: time.Now(), Took: time.Duration(f.Nanos), Failed: f.Kind == ipc.KindFailed,
		})
	}
	if f.Kind == ipc.KindFailed {
		r.failed(rank, m, a)
	}
	if rank == 0 {
		a.first = m
	} else if a.failure != m {
		m.close()
	}
	if left := len(r.o.Ranks) - len(ones(a.ended)); left > 0 {
		return nil
	}
	delete(r.answers, f.ID)
	single := f.ID == r.running
	if single {
		r.free()
	}
	r.answer(f.ID, a)
	a.close()
	if single {
		r.next()
	}
	return nil
}

// failed handles a failure of one rank. The front gets it after failTogether, although other ranks go on.
func (r *Relay) failed(rank int, m *message, a *answer) {
	text := ipc.FailureError(m.frame.Body)
	a.failures++
	if a.failure != nil {
		a.same = a.same && text == a.error
		return
	}
	a.failed, a.failure, a.error = rank, m, text
	id := m.frame.ID
	after := func(delay time.Duration, f func()) {
		a.timers = append(a.timers, time.AfterFunc(delay, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !r.closed && !r.lost && r.answers[id] == a {
				f()
			}
		}))
	}
	after(failTogether, func() {
		switch {
		case id == r.running:
		case a.batch == nil: // others have prepared it
			r.pass(&message{ipc.Frame{Kind: ipc.KindDrop, ID: id, Body: ipc.IDs(id)}, -1})
		default:
			r.release(a.batch)
		}
		r.answer(id, a)
	})
	after(LateAfter, func() {
		r.o.Late(fmt.Sprintf("rank %d raised an exception, and %s had not ended the prediction %s later", rank,
			r.without(a.ended), LateAfter))
	})
}

// without names the ranks that have no bit.
func (r *Relay) without(ended uint64) string {
	var names []string
	for i := range r.o.Ranks {
		if ended&(1<<i) == 0 {
			names = append(names, fmt.Sprintf("rank %d", i))
		}
	}
	return strings.Join(names, ", ")
}

func ones(bits uint64) (at []int) {
	for i := range 64 {
		if bits&(1<<i) != 0 {
			at = append(at, i)
		}
	}
	return at
}

// answer sends the front the end of a request or item, once. That of a batch's item follows the batch's end.
func (r *Relay) answer(id uint64, a *answer) {
	if a.sent {
		return
	}
	a.sent = true
	m := r.result(id, a)
	if b := a.batch; b != nil && !b.sent {
		b.held = append(b.held, m)
		return
	}
	r.toFront(m)
}

// result returns how a request ends: as on rank 0, unless it was dropped or a rank has failed.
func (r *Relay) result(id uint64, a *answer) *message {
	metrics := json.RawMessage("{}")
	var nanos uint64
	for _, m := range []*message{a.failure, a.first} {
		if m != nil && m.fd < 0 {
			if said, ok := ipc.ParseAnswer(m.frame.Kind, m.frame.Body); ok {
				metrics = said.Metrics
			}
		}
		if m != nil {
			nanos = m.frame.Nanos
		}
	}
	switch {
	case a.dropped:
		body := slices.Concat([]byte(`{"metrics":`), metrics, []byte("}"))
		return &message{ipc.Frame{Kind: ipc.KindCanceled, ID: id, Nanos: nanos, Body: body}, -1}
	case a.failures == 0 || a.failures == len(r.o.Ranks) && a.same:
		m := a.first
		a.first = nil
		return m
	}
	text, _ := json.Marshal(fmt.Sprintf("rank %d: %s", a.failed, a.error)) // never fails
	body := slices.Concat([]byte(`{"metrics":`), metrics, []byte(`,"error":`), text, []byte("}"))
	return &message{ipc.Frame{Kind: ipc.KindFailed, ID: id, Nanos: nanos, Body: body}, -1}
}
