package slot

import (
	"math/bits"
	"slices"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
)

// The window is how many requests lie in a slot's socket, the running one included: enough that
// the worker never runs dry while an answer travels (about 100 µs there and back; twice that for
// safety), and no more, for what lies there is harder to move elsewhere.
const (
	windowSpan = 200 * time.Microsecond
	minWindow  = 2
	maxWindow  = 32
)

// Slot is the front's side of one slot of a worker.
type Slot struct {
	pool   *Pool
	worker Worker
	conn   *ipc.Conn
	words  ipc.Slot

	// Guarded by pool.mu.
	calls     [ipc.Claims]*Call     // by claim index
	free      uint64                // a bit for each unused claim index
	count     int                   // calls outstanding
	plain     int                   // of those, how many run by themselves
	riders    map[uint64]*Call      // the others, by id; nil: the worker's answer is due, and nobody waits for it
	partings  map[uint64]func()     // of those that have ended, to be called with their answer
	rides     []*ride               // those that are not done, in their order
	line      *batch.Batcher[*Call] // of what the worker has prepared; nil: it prepares nothing
	serial    uint64
	mean      time.Duration // moving average of the time that the model has a call
	window    int
	spinRest  int           // see spin.go
	granted   time.Duration // for how long its worker may spin
	leader    *Call         // whose goroutine reads the socket
	followers list          // whose goroutines wait for their answers
	resting   bool          // in pool.idle, perhaps idle no more
	held      int           // requests queued and not yet flushed: see flows
	served    bool          // it had a success
	freed     time.Time     // when its last call ended, or it was made
	lost      bool
	crew      *crew         // of its worker
	leaving   bool          // it gets no call any more
	gone      bool          // it has left the pool
	seen      uint64        // what ran at the last look: see overtime.go
	seenAt    time.Time     // when that was first seen
	stuck     uint64        // what it had not taken at the last look: see stalled.go
	stuckFor  int           // looks in a row
	unread    int           // what its worker had not read at the last look
	draining  bool          // Detach waits for drained
	drained   chan struct{} // closed where nothing more is to be read: with lost, or when draining and empty

	// Of the leader.
	onFrame func(*ipc.Frame)
	out     deliveries
	woken   []*Call
	fault   error
}

func newSlot(p *Pool, w Worker, conn *ipc.Conn, words ipc.Slot) *Slot {
	s := &Slot{
		pool: p, worker: w, conn: conn, words: words,
		free: ^uint64(0), window: minWindow, drained: make(chan struct{}),
		freed: time.Now(),
	}
	s.onFrame = s.frame
	return s
}

// assign gives the slot a call; what it returns is to be queued and flushed without the lock.
// Called with the lock held.
func (s *Slot) assign(c *Call) delivery {
	i := bits.TrailingZeros64(s.free)
	s.free &^= 1 << i
	s.serial++
	c.moved = c.moved || c.id != 0
	c.id = ipc.MakeID(s.serial, i)
	c.state, c.slot = assigned, s
	s.calls[i] = c
	s.plain++
	s.count++
	s.crew.busy++
	s.pool.watch()
	s.words.Queue(c.id)
	s.attend(c)
	return delivery{conn: s.conn, id: c.id, call: c}
}

// attend has a call's goroutine wait here, if it waits already. Called with the lock held.
func (s *Slot) attend(c *Call) {
	switch {
	case !c.parked:
	case s.leader != nil:
		s.follow(c)
	default:
		s.appoint(c) // somebody must read this slot's socket
	}
}

// release takes a call off the slot. Called with the lock held.
func (s *Slot) release(c *Call) {
	if s.riders[c.id] == c {
		s.alight(c)
	} else {
		i := ipc.ClaimIndex(c.id)
		s.calls[i] = nil
		s.free |= 1 << i
		s.plain--
	}
	s.count--
	s.crew.busy--
	s.unfollow(c)
	c.slot = nil
	if s.count == 0 && s.draining {
		s.dry()
	}
	s.seeOff()
	s.rest()
}

// seeOff lets a slot that is to leave go, once it has nothing to do. Called with the lock held.
func (s *Slot) seeOff() {
	if s.leaving && s.count == 0 && len(s.rides) == 0 {
		s.pool.leave(s)
	}
}

// rest enters an idle slot among those that the next call may have.
func (s *Slot) rest() {
	if s.count == 0 && !s.lost && !s.leaving && !s.resting && s.crew.batch == nil {
		s.resting = true
		s.pool.idle = append(s.pool.idle, s)
	}
}

// refill gives the slot what waits: from the queue up to its window, or, where it is idle and the
// queue is empty, half of what lies unbegun in the fullest other slot. Called with the lock held.
func (s *Slot) refill(d deliveries) deliveries {
	p := s.pool
	if s.lost {
		return d
	}
	if s.crew.batch != nil {
		return p.form(d)
	}
	if s.leaving {
		return s.unhold(d)
	}
	for s.count < s.window && p.queue.head != nil {
		c := p.queue.head
		p.unqueue(c)
		d = append(d, s.assign(c))
	}
	if s.count == 0 && len(p.slots) > 1 {
		d = s.steal(d)
	}
	s.rest()
	return s.unhold(d)
}

// A request need not be written by itself where the worker has enough to do and answers fast: it
// is held for the next flush of the leader, which comes with the next answers. For that, answers must be
// due: of requests that are on their way and not held themselves. Where such are taken back, nothing may
// come of them, so whoever does that unholds.
const (
	holdAbove = 4                     // requests on their way
	holdBelow = 50 * time.Microsecond // average time of a prediction
	holdSize  = 4 << 10               // bytes: copied under the lock
)

// flows tells whether d, just assigned, can be held. Called with the lock held.
func (s *Slot) flows(d delivery) bool {
	return s.leader != nil && s.count-1-s.held >= holdAbove && s.mean > 0 && s.mean < holdBelow &&
		d.size() <= holdSize
}

// unhold has the requests that are held sent with d. Called with the lock held.
func (s *Slot) unhold(d deliveries) deliveries {
	if s.held == 0 {
		return d
	}
	s.held = 0
	return append(d, delivery{conn: s.conn})
}

// steal moves waiting calls to this idle slot, from the fullest other one, or from any where that one's
// have all begun.
func (s *Slot) steal(d deliveries) deliveries {
	var fullest *Slot
	for _, v := range s.pool.slots {
		if v != s && !v.lost && v.crew.batch == nil && v.count > 1 && (fullest == nil || v.count > fullest.count) {
			fullest = v
		}
	}
	if fullest == nil {
		return d
	}
	d = s.stealFrom(fullest, d)
	for _, v := range s.pool.slots {
		if s.count > 0 {
			break
		}
		if v != s && v != fullest && !v.lost && v.crew.batch == nil && v.count > 1 {
			d = s.stealFrom(v, d)
		}
	}
	return d
}

// stealFrom moves half of what lies unbegun in a slot, the oldest first.
func (s *Slot) stealFrom(from *Slot, d deliveries) deliveries {
	want := from.count / 2
	for _, c := range from.inOrder() {
		if want == 0 {
			break
		}
		if !from.words.Revoke(c.id) {
			continue // the model has it
		}
		from.release(c)
		from.recall(c)
		d = append(d, s.assign(c))
		want--
	}
	return from.unhold(d)
}

// inOrder lists the outstanding calls, the oldest first.
func (s *Slot) inOrder() []*Call {
	calls := make([]*Call, 0, s.count)
	for _, c := range s.calls {
		if c != nil {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b *Call) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return calls
}

// learn takes the time of one call into the slot's average and sets its window by it.
func (s *Slot) learn(took time.Duration) {
	if s.mean == 0 {
		s.mean = took
	} else {
		s.mean += (took - s.mean) / 8
	}
	s.window = maxWindow
	if s.mean > 0 {
		s.window = int(min(maxWindow, max(minWindow, windowSpan/s.mean)))
	}
}

// delivery is a request that is to be sent; without an id, only what was queued before it is.
type delivery struct {
	conn *ipc.Conn
	id   uint64
	call *Call
	held bool     // it is to ride
	kind ipc.Kind // not 0: it is no request but this, with that body
	body []byte
}

// size is how many bytes of the client's are in the request.
func (d delivery) size() int { return len(d.call.Input) + len(d.call.Context) }

var (
	openInput   = []byte(`{"input":`)
	thenContext = []byte(`,"context":`)
	thenFiles   = []byte(`,"files":`)
	closeBrace  = []byte(`}`)
)

// queue puts the request's frame among those to be sent. An error means that the worker is gone;
// the call is then dealt with by Detach, like all others of its slot.
func (d delivery) queue() {
	c := d.call
	if d.kind != 0 {
		_ = d.conn.Queue(d.kind, d.id, d.body)
		return
	}
	var flags uint8
	if d.held {
		flags |= ipc.FlagHeld
	}
	if c.Tell != nil {
		flags |= ipc.FlagEvents
	}
	if c.Train {
		flags |= ipc.FlagTrain
	}
	parts := append(make([][]byte, 0, 7), openInput, c.Input)
	if c.Context != nil {
		parts = append(parts, thenContext, c.Context)
	}
	if c.Files != nil {
		parts = append(parts, thenFiles, c.Files)
	}
	_ = d.conn.QueueFlagged(ipc.KindPredict, flags, d.id, append(parts, closeBrace)...)
}

func (d delivery) flush() { _ = d.conn.Flush() }

// deliveries are sent together: one write a connection.
type deliveries []delivery

func (ds deliveries) deliver() {
	for i, d := range ds {
		if d.id != 0 {
			d.queue()
		}
		if i+1 == len(ds) || ds[i+1].conn != d.conn {
			d.flush()
		}
	}
}
