package slot

import (
	"slices"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
)

// crew is what the slots of one worker have in common. Guarded by pool.mu, but for the alarms, which are
// set before the slots get their first call.
type crew struct {
	slots    []*Slot
	busy     int           // calls outstanding, of all slots
	answered int           // answers that came
	left     int           // slots that are still in the pool
	leaving  bool          // it gets no call any more
	empty    chan struct{} // closed once it is leaving and nothing is outstanding
	alarms   Alarms
	batch    *Batch // how its calls ride together; nil: they do not
}

// Alarms are what somebody wants to be told of a worker's answers. The functions must not block.
type Alarms struct {
	// After so many answers Worn is called, once; 0: never.
	Answers int
	Worn    func()
	// Fatal tells by the body of a failure whether its worker can serve no more; nil: none is. Such a
	// worker gets no further call, and Lost is called, with that body.
	Fatal func(body []byte) bool
	Lost  func(body []byte)
}

// newCrew joins slots that were just made.
func newCrew(slots []*Slot, a Alarms, b *Batch) *crew {
	w := &crew{slots: slots, left: len(slots), empty: make(chan struct{}), alarms: a, batch: b}
	for _, s := range slots {
		s.crew = w
		if b == nil {
			continue
		}
		s.riders = make(map[uint64]*Call)
		if b.Prepare {
			s.line = batch.New[*Call](b.Options)
		}
	}
	return w
}

// judge looks at an answer of a slot before its call ends. It runs in a leader, without the lock.
func (w *crew) judge(s *Slot, id uint64, kind ipc.Kind, body []byte) {
	if kind == ipc.KindFailed && w.alarms.Fatal != nil && w.alarms.Fatal(body) {
		s.pool.Retire(w.slots)
		s.pool.unstage(s, id)
		w.alarms.Lost(append([]byte(nil), body...))
	}
}

// count counts an answer. Called with the lock held.
func (w *crew) count() {
	w.answered++
	if w.answered == w.alarms.Answers {
		w.alarms.Worn()
	}
}

// Retire lets a worker finish what it has begun and gives it nothing more: what lies unbegun in its
// sockets goes to others, and keeps its place. The channel is closed once nothing is outstanding; the
// slots have left the pool by then.
func (p *Pool) Retire(slots []*Slot) (empty <-chan struct{}) {
	if len(slots) == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	w := slots[0].crew
	p.mu.Lock()
	if w.leaving {
		p.mu.Unlock()
		return w.empty
	}
	if w.leaving = true; w.left == 0 { // it has died
		close(w.empty)
	}
	now := time.Now()
	var back []*Call
	var d deliveries
	for _, s := range slots {
		s.leaving = true
		if s.lost {
			continue // Detach deals with its calls
		}
		for _, c := range s.inOrder() {
			if s.words.Revoke(c.id) {
				s.release(c)
				s.recall(c)
				back = append(back, c)
			}
		}
		for _, r := range slices.Clone(s.rides) {
			if s.words.Revoke(r.id) {
				back = append(back, s.unboard(r)...)
			}
		}
		d = s.unhold(d)
		s.seeOff()
	}
	d = p.putBack(back, now, d)
	p.mu.Unlock()
	d.deliver()
	return w.empty
}

// leave takes an empty slot of a leaving worker out of the pool. Called with the lock held.
func (p *Pool) leave(s *Slot) {
	if s.gone {
		return
	}
	s.gone = true
	p.drop(s)
	p.places -= s.crew.batch.places()
	if s.crew.left--; s.crew.left > 0 {
		return
	}
	p.crews--
	if s.crew.batch != nil {
		p.batchesNoMore()
	}
	if s.crew.leaving {
		close(s.crew.empty)
	}
}

// Vitals is what a worker does, by its slots.
type Vitals struct {
	Answered int       // answers that came
	Busy     int       // calls that it has
	Since    time.Time // when the oldest of them could begin; zero where it has none
}

// Vitals tells what a worker does.
func (p *Pool) Vitals(slots []*Slot) (v Vitals) {
	if len(slots) == 0 {
		return v
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v.Answered, v.Busy = slots[0].crew.answered, slots[0].crew.busy
	for _, s := range slots {
		for _, c := range s.calls {
			if c == nil {
				continue
			}
			if since := later(c.since, s.freed); v.Since.IsZero() || since.Before(v.Since) {
				v.Since = since
			}
		}
		if len(s.rides) > 0 {
			if since := later(s.rides[0].at, s.freed); v.Since.IsZero() || since.Before(v.Since) {
				v.Since = since
			}
		}
	}
	return v
}
