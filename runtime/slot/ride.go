package slot

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bytedance/sonic"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/predict"
)

// A ride is a batch on its way: calls that the model has in one run of its function. It has one claim word, so it
// begins as a whole or not at all. The frames of its calls lie in the worker before it, each under an id of its
// own, and each of those ids is answered exactly once, also where its call is not waiting for it any more.
type ride struct {
	id    uint64
	calls []*Call // those that had not ended when it was boarded
	live  int     // of those, how many have not ended
	at    time.Time
	held  time.Duration // for how long the first was held back for others though the slot was idle
	began time.Time     // known once it is done
	done  bool          // the function has ended; answers may still come
	cut   bool          // it was to be interrupted: what it took says nothing
}

// waiting lists the calls that wait for the ride's end.
func (r *ride) waiting() []*Call {
	calls := make([]*Call, 0, r.live)
	for _, c := range r.calls {
		if c.ride == r {
			calls = append(calls, c)
		}
	}
	return calls
}

// maxNames is how many predictions a line of the log names at most.
const maxNames = 8

// names are the ids of the predictions that ride, for the log.
func (r *ride) names() string {
	var b strings.Builder
	n := 0
	for _, c := range r.calls {
		if c.ride != r {
			continue
		}
		if n++; n > maxNames {
			b.WriteString(",…")
			break
		}
		if n > 1 {
			b.WriteByte(',')
		}
		b.WriteString(c.Name)
	}
	return b.String()
}

// rideOf is the ride of that id which is not done, or nil. Called with the lock held.
func (s *Slot) rideOf(id uint64) *ride {
	for _, r := range s.rides {
		if r.id == id {
			return r
		}
	}
	return nil
}

// take hands a call to the worker, to be held until it rides. Called with the lock held.
func (s *Slot) take(c *Call, d deliveries) deliveries {
	s.serial++
	c.id = ipc.MakeID(s.serial, 0)
	c.state, c.slot, c.ready = assigned, s, false
	s.riders[c.id] = c
	s.count++
	s.crew.busy++
	s.attend(c)
	return append(d, delivery{conn: s.conn, id: c.id, call: c, held: true})
}

// board sends calls off together: calls of the line, or calls that this slot has prepared. Called with the lock held.
func (s *Slot) board(items []*batch.Item[*Call], d deliveries) deliveries {
	i := bits.TrailingZeros64(s.free)
	s.free &^= 1 << i
	r := &ride{calls: make([]*Call, 0, len(items)), live: len(items), at: time.Now()}
	ids := make([]byte, 0, 16+20*len(items))
	ids = append(ids, `{"ids":[`...)
	for _, it := range items {
		c := it.Value
		if len(s.rides) == 0 {
			r.held = max(r.held, r.at.Sub(later(s.freed, later(c.since, s.pool.origin.Add(it.Arrived())))))
		}
		if c.state == queued {
			s.pool.unqueue(c)
		}
		if c.slot == nil {
			d = s.take(c, d)
		}
		c.ride = r
		r.calls = append(r.calls, c)
		ids = append(strconv.AppendUint(ids, c.id, 10), ',')
	}
	clear(items) // they may be the pool's scratch
	ids = append(ids[:len(ids)-1], `]}`...)
	s.serial++
	r.id = ipc.MakeID(s.serial, i)
	s.rides = append(s.rides, r)
	s.words.Queue(r.id)
	s.pool.watch()
	return append(d, delivery{conn: s.conn, id: r.id, kind: ipc.KindBatch, body: ids})
}

// disband takes a ride off the slot. Called with the lock held.
func (s *Slot) disband(r *ride) {
	s.rides = slices.DeleteFunc(s.rides, func(x *ride) bool { return x == r })
	s.free |= 1 << ipc.ClaimIndex(r.id)
}

// unboard takes the calls of a revoked ride off the slot. Called with the lock held.
func (s *Slot) unboard(r *ride) []*Call {
	calls := r.waiting()
	s.disband(r)
	for _, c := range calls {
		s.release(c)
		s.recall(c)
	}
	return calls
}

// alight takes a call off the slot that rides or is to ride; its answer may still come. Called with the lock held.
func (s *Slot) alight(c *Call) {
	s.riders[c.id] = nil
	if s.line != nil {
		s.line.Remove(&c.item)
	}
	if c.ride != nil {
		c.ride.live--
		c.ride = nil
	}
}

// drop tells the worker that nobody wants a call's answer any more.
func (s *Slot) drop(id uint64, d deliveries) deliveries {
	body := append(strconv.AppendUint([]byte(`{"ids":[`), id, 10), `]}`...)
	return append(d, delivery{conn: s.conn, id: id, kind: ipc.KindDrop, body: body})
}

// cancelRider cancels a call that rides or is to ride: at once, unless it is the last of a ride that runs, which is
// interrupted. Called with the lock held.
func (p *Pool) cancelRider(c *Call) deliveries {
	s, r, id := c.slot, c.ride, c.id
	switch {
	case r != nil && !r.done && (p.stopped == nil || r.live == 1) && s.words.Revoke(r.id):
		others := s.unboard(r)
		others = slices.DeleteFunc(others, func(x *Call) bool { return x == c })
		c.state = fresh // it is nowhere
		p.end(c, Result{Err: ErrCanceled})
		return p.putBack(others, time.Now(), nil)
	case r != nil && !r.done && r.live == 1:
		p.press(c, time.Now().Add(p.o.CancelGrace))
		return nil
	case r != nil && !r.done && s.words.Claim(r.id) == ipc.ClaimQueued: // the others would not get a place any more
		p.end(c, Result{Err: ErrCanceled})
	case r != nil:
		begun := r.began
		if !r.done {
			begun = later(r.at, s.freed)
		}
		now := time.Now()
		p.end(c, Result{Err: ErrCanceled, Waited: max(0, begun.Sub(c.since)), Elapsed: now.Sub(begun)})
	default:
		p.end(c, Result{Err: ErrCanceled})
	}
	return p.form(s.drop(id, nil))
}

// target is the id by which the worker knows what the model runs for this call.
func (c *Call) target() uint64 {
	if c.ride != nil {
		return c.ride.id
	}
	return c.id
}

// prepared takes in that a call can ride now.
func (s *Slot) prepared(f *ipc.Frame) {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := s.riders[f.ID]
	c := s.riders[f.ID]
	switch {
	case !known || s.line == nil || c != nil && c.ride != nil:
		s.violate("a frame of kind %d for %#x, which is not being prepared", f.Kind, f.ID)
	case c == nil: // the word that nobody wants it may have come before it did
		s.out = s.drop(f.ID, s.out)
	case !c.ready: // not twice
		c.ready = true
		c.enterLine(s.line, false, p.moment(time.Now()))
		s.out = p.form(s.out)
	}
}

// batchDone takes in that the model has ended a ride's function: it is free for the next.
func (s *Slot) batchDone(f *ipc.Frame) {
	var told struct {
		Runs   int
		Failed bool
	}
	if err := sonic.Unmarshal(f.Body, &told); err != nil {
		s.violate("the end of a batch that cannot be read: %w", err)
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	r := s.rideOf(f.ID)
	if r == nil {
		s.violate("the end of a batch, %#x, which does not run", f.ID)
		return
	}
	now := time.Now()
	took := time.Duration(f.Nanos)
	r.done, r.began = true, later(r.at, now.Add(-took))
	s.disband(r)
	s.freed = now
	s.mean = max(1, took/time.Duration(len(r.calls)))
	if told.Failed || told.Runs != 1 || r.cut {
		took = -1
	}
	if s.line != nil {
		s.line.Ended(p.moment(now), len(r.calls), took)
	} else if p.line != nil {
		p.line.Ended(p.moment(now), len(r.calls), took)
	}
	if p.o.OnBatch != nil {
		p.o.OnBatch(len(r.calls), r.held)
	}
	s.seeOff()
	s.out = p.form(s.out)
}

// autopsy sorts the calls that rode or were to ride in a dead worker: those that the model had and those that it had
// not. Called with the lock held.
func (s *Slot) autopsy() (had, rest []*Call) {
	begun := make(map[*ride]bool)
	for _, r := range s.rides {
		begun[r] = !s.words.Revoke(r.id)
	}
	for _, c := range s.riders {
		switch {
		case c == nil:
		case c.ride != nil && (c.ride.done || begun[c.ride]):
			had = append(had, c)
		default:
			rest = append(rest, c)
		}
	}
	byID := func(a, b *Call) int {
		if a.id < b.id {
			return -1
		}
		return 1
	}
	slices.SortFunc(had, byID)
	slices.SortFunc(rest, byID)
	return had, rest
}

// retries tells whether a call that the model had is to run once more.
func (c *Call) retries() bool {
	return c.slot.crew.batch != nil && c.slot.crew.batch.Isolate && c.ride != nil && len(c.ride.calls) > 1 && !c.alone
}

// detachRiders settles the calls that rode or were to ride in a dead worker. It returns how many the model had, and
// those that are to go elsewhere. Called with the lock held.
func (p *Pool) detachRiders(s *Slot, cause string, logs []byte, now time.Time) (n int, back []*Call) {
	if s.crew.batch == nil {
		return 0, nil
	}
	had, rest := s.autopsy()
	back = rest[:0]
	for _, c := range rest {
		if c.suspect { // it was the only one there
			had = append(had, c)
			continue
		}
		c.suspect = s.line != nil // its preparation, also where that had ended, may be what the worker died of
		back = append(back, c)
	}
	for _, c := range had {
		began := later(c.since, s.freed)
		if c.ride != nil {
			began = later(c.ride.at, s.freed)
		}
		r := Result{Waited: max(0, began.Sub(c.since)), Elapsed: now.Sub(began), Err: &LostError{Cause: cause}}
		switch {
		case c.canceling:
			r.Err = ErrCanceled
			p.end(c, r)
		case p.stopped == nil && c.retries():
			c.alone = true
			back = append(back, c)
		default:
			c.addLogs("stderr", logs)
			p.end(c, r)
		}
	}
	s.rides = nil
	for _, c := range back {
		s.release(c)
		s.recall(c)
	}
	stay := back[:0]
	for _, c := range back {
		if c.canceling {
			c.state = fresh // it is nowhere
			p.end(c, Result{Err: ErrCanceled})
			continue
		}
		stay = append(stay, c)
	}
	return len(had), stay
}

// expireRiders ends the calls of a slot that are late, and that the model has not begun.
func (p *Pool) expireRiders(s *Slot, late func(*Call) bool, now time.Time, d deliveries) deliveries {
	var rides []*ride // that somebody is on who is late
	for id, c := range s.riders {
		switch {
		case c == nil || !late(c) || s.lost: // Detach deals with those of a lost slot
		case c.ride == nil:
			p.end(c, Result{Err: predict.ErrQueueTimeout})
			d = s.drop(id, d)
		case !c.ride.done && !slices.Contains(rides, c.ride):
			rides = append(rides, c.ride)
		}
	}
	for _, r := range rides {
		onTime := func(c *Call) bool { return !late(c) }
		if p.stopped != nil && slices.ContainsFunc(r.waiting(), onTime) {
			continue // they would not get a place any more
		}
		if s.words.Revoke(r.id) {
			d = p.putBack(s.unboard(r), now, d) // which ends those that are late
		}
	}
	return d
}

// overrun cancels a ride that ran for too long. Called with the lock held.
func (p *Pool) overrun(r *ride, now time.Time) {
	var one *Call
	for _, c := range r.waiting() {
		if !c.canceling {
			c.overtime, c.canceling, one = true, true, c
		}
	}
	if one != nil {
		p.press(one, now.Add(p.o.CancelGrace))
	}
}

// waited is for how long a call waited before the model had it, which took so long. Called with the lock held.
func (c *Call) waited(took time.Duration) time.Duration {
	began := time.Now().Add(-took)
	if c.ride != nil && c.ride.done {
		began = c.ride.began
	}
	return max(0, began.Sub(c.since))
}
