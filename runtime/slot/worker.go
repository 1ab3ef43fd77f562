package slot

import (
	"slices"
	"time"

	"pinion/ipc"
)

// workerSlots is the state that the slots of one worker share. Guarded by pool.mu, except for hooks and batching, which
// do not change.
type workerSlots struct {
	process     Worker
	slots       []*Slot
	outstanding int           // calls, of all slots
	answered    int           // answers received
	remaining   int           // slots that are still in the pool
	retiring    bool          // it gets no call any more
	threads     bool          // each slot is a thread
	exclusive   bool          // a call has it to itself
	freed       bool          // such a call has just left, so the other slots are refilled
	begunAtExit int           // calls that the model had when it died
	empty       chan struct{} // closed when it is retiring and nothing is outstanding
	hooks       Hooks
	batching    *BatchOptions // nil if calls are not batched
}

// Hooks let a worker's owner observe its answers. The functions must not block.
type Hooks struct {
	// Worker and Device name the worker in traces.
	Worker int
	Device string
	// Threads means that its slots are threads, so a crash of one ends the others. Isolate means that those then run once
	// more, alone. Packs means that they have a GIL, so short predictions go to one of them.
	Threads, Isolate, Packs bool
	// Streamed means that the model has a streamed input, whose items come behind its request: a slot's socket has one
	// request at a time.
	Streamed bool
	// MaxRequestsReached is called once, after MaxRequests answers; 0 means never.
	MaxRequests        int
	MaxRequestsReached func()
	// IsFatal reports, by the body of a failure, whether its worker is unusable from now on. Such a worker gets no further
	// call, and FatalAnswer is called with that body. If IsFatal is nil, no failure is fatal.
	IsFatal     func(body []byte) bool
	FatalAnswer func(body []byte)
}

// Attach adds a worker's slots, one for each connection, and gives them waiting calls. words returns those of a slot; b says how its calls are
// batched; nil means they are not.
func (p *Pool) Attach(w Worker, conns []*ipc.Conn, words func(slot int) ipc.Slot, h Hooks, b *BatchOptions) (added []*Slot) {
	p.locked(func() (d deliveries) {
		p.batches.addWorker(b)
		ws := &workerSlots{process: w, empty: make(chan struct{}), hooks: h, batching: b, threads: h.Threads}
		p.threads = p.threads || h.Threads
		for i, conn := range conns {
			ws.slots = append(ws.slots, newSlot(p, ws, i, conn, words(i)))
		}
		ws.remaining = len(ws.slots)
		p.slots = append(p.slots, ws.slots...)
		p.workers++
		p.admission.capacity += len(ws.slots) * b.slotCapacity()
		p.admission.wake()
		for _, s := range slices.Backward(ws.slots) {
			d = s.refill(d)
		}
		added = ws.slots
		return d
	})
	return added
}

// checkFatal retires the worker if an answer of a slot is fatal. It runs in the slot's leader, before the answer's call
// ends, without the lock.
func (w *workerSlots) checkFatal(s *Slot, f *ipc.Frame, body []byte) {
	if f.Kind != ipc.KindFailed || w.hooks.IsFatal == nil || !w.hooks.IsFatal(body) {
		return
	}
	s.pool.Retire(w.slots)
	s.pool.locked(func() deliveries { return s.pool.takeBackItems(w, s, f.ID) })
	w.hooks.FatalAnswer(append([]byte(nil), body...))
}

func (w *workerSlots) countAnswer() {
	w.answered++
	if w.answered == w.hooks.MaxRequests {
		w.hooks.MaxRequestsReached()
	}
}

// Retire lets a worker finish the calls that it has begun and gives it no more. Calls that it has not begun go to other
// workers and keep their position. The channel is closed when no call is outstanding; the slots have left the pool by
// then.
func (p *Pool) Retire(slots []*Slot) (empty <-chan struct{}) {
	if len(slots) == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	w := slots[0].worker
	p.locked(func() deliveries {
		if w.retiring {
			return nil
		}
		if w.retiring = true; w.remaining == 0 { // it has died
			close(w.empty)
		}
		return p.takeBackUnbegun(slots)
	})
	return w.empty
}

// takeBackUnbegun requeues the calls that retiring slots have not begun.
func (p *Pool) takeBackUnbegun(slots []*Slot) (d deliveries) {
	var back []*Call
	for _, s := range slots {
		s.retiring = true
		if s.ch.closed {
			continue // Detach settles its calls
		}
		for _, c := range s.window.oldestFirst() {
			if s.words.Revoke(c.id) {
				s.takeBack(c)
				back = append(back, c)
			}
		}
		for _, r := range slices.Clone(s.batches.runs) {
			if s.words.Revoke(r.id) {
				back = append(back, s.takeBackRun(r)...)
			}
		}
		d = s.ch.flushDelayed(d)
		s.removeWhenDrained()
	}
	return p.requeueAll(back, time.Now(), d)
}

func (p *Pool) removeSlot(s *Slot) {
	if s.removed {
		return
	}
	s.removed = true
	// The idle slots are searched too: those at the bottom of that stack are seldom taken, and would accumulate. The slots
	// are cloned because a caller may be iterating over them.
	is := func(x *Slot) bool { return x == s }
	p.slots = slices.DeleteFunc(slices.Clone(p.slots), is)
	p.idle = slices.DeleteFunc(p.idle, is)
	w := s.worker
	p.admission.capacity -= w.batching.slotCapacity()
	if w.remaining--; w.remaining > 0 {
		return
	}
	p.workers--
	if w.batching != nil {
		p.batches.removeWorker()
	}
	if w.retiring {
		close(w.empty)
	}
}

type WorkerLoad struct {
	Answered int       // answers received
	Busy     int       // calls that it has
	Since    time.Time // when the oldest of them could begin; zero if there is none
}

func (p *Pool) WorkerLoad(slots []*Slot) WorkerLoad {
	if len(slots) == 0 {
		return WorkerLoad{}
	}
	return underLock(p, slots[0].worker.load)
}

func (w *workerSlots) load() WorkerLoad {
	l := WorkerLoad{Answered: w.answered, Busy: w.outstanding}
	begun := func(t time.Time) {
		if l.Since.IsZero() || t.Before(l.Since) {
			l.Since = t
		}
	}
	for _, s := range w.slots {
		for _, c := range s.window.calls {
			if c != nil {
				begun(later(c.since, s.freed))
			}
		}
		if len(s.batches.runs) > 0 {
			begun(later(s.batches.runs[0].sentAt, s.freed))
		}
	}
	return l
}
