package slot

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
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
	c.moved = c.moved || c.id != 0
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
