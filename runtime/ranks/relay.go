package ranks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
)

const (
	// LateAfter is how long the other ranks may go on after one has raised.
	LateAfter = 5 * time.Second
	// failTogether is how long an error waits for those of other ranks. If all raise the same, it is the model's error,
	// and no rank is named.
	failTogether = 500 * time.Millisecond
	// lastRead is how long the channels of ranks that have ended are read. What they sent is in the sockets already.
	lastRead = time.Second
)

// Member is one rank.
type Member struct {
	Conn  *ipc.Conn
	Words ipc.Slot // of its one slot
	// Took handles a frame about the logs of a rank that is not 0. It may keep nothing of it.
	Took func(*ipc.Frame) error
	// Lost is called once nothing more can be read from the rank, unless Close was first.
	Lost func(error)
}

// Options are what a Relay needs. Its functions are called with a lock held: they must not block or call the Relay.
type Options struct {
	Front *ipc.Conn // the relay's end of the slot's channel
	Words ipc.Slot  // of the slot, which the relay writes as a worker
	Ranks []Member
	// Late is called if ranks go on for too long after another has raised.
	Late func(why string)
	// Stepless is called for a request that ran longer than Grace, and came to no step at which a cancel could have
	// stopped it.
	Stepless func(took time.Duration)
	Grace    time.Duration // how long a canceled request may go on
}

// Relay passes the requests of one slot to all ranks, and their answers back.
type Relay struct {
	o       Options
	readers sync.WaitGroup // of the ranks' channels

	mu       sync.Mutex
	closed   bool
	lost     bool               // a rank has died: what others raise is only a consequence
	queue    []*message         // requests that wait for the one that runs
	running  uint64             // id of the request that all ranks have; 0 if there is none
	began    time.Time          // when it was passed to them
	batch    *batch             // the batch that runs, or nil
	stopping bool               // the step at which the running request stops was named
	answers  map[uint64]*answer // of requests and items that the ranks have

	partsMu sync.Mutex // a leaf: the slot takes it with its pool's lock
	parts   map[uint64][]slot.RankPart
}

// mostParts is how many requests may have parts that the slot has not taken.
const mostParts = 64

// Parts returns what the ranks did for a traced request, and forgets it.
func (r *Relay) Parts(id uint64) []slot.RankPart {
	r.partsMu.Lock()
	defer r.partsMu.Unlock()
	parts := r.parts[id]
	delete(r.parts, id)
	return parts
}

func (r *Relay) addPart(id uint64, part slot.RankPart) {
	r.partsMu.Lock()
	defer r.partsMu.Unlock()
	if len(r.parts) > mostParts {
		clear(r.parts)
	}
	r.parts[id] = append(r.parts[id], part)
}

// message is a frame that is kept, with its file or -1.
type message struct {
	frame ipc.Frame
	fd    int
}

// own copies a frame whose body is lent.
func own(f *ipc.Frame) *message {
	m := &message{fd: f.Descriptor()}
	body, _ := f.Own() // never mapped; a buffer of the pool is left to the garbage collector
	m.frame = ipc.Frame{Kind: f.Kind, Flags: f.Flags &^ ipc.FlagFile, ID: f.ID, Nanos: f.Nanos, Body: body}
	return m
}

func (m *message) close() {
	if m != nil && m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
}

// batch is a batch that all ranks have.
type batch struct {
	left int      // ranks that have not ended it
	end  *message // what the front gets: of rank 0, or of the rank that failed
	sent bool     // the front has it
	held []*message
}

// New starts a relay.
func New(o Options) *Relay {
	r := &Relay{o: o, answers: make(map[uint64]*answer), parts: make(map[uint64][]slot.RankPart)}
	o.Front.KeepFiles()
	for i := range o.Ranks {
		o.Ranks[i].Conn.KeepFiles()
		r.readers.Go(func() { r.readRank(i) })
	}
	go r.readFront()
	return r
}

// Close ends the relay when the ranks have ended, after it has passed on what they sent.
func (r *Relay) Close() {
	for _, m := range r.o.Ranks {
		defer time.AfterFunc(lastRead, func() { m.Conn.Close() }).Stop()
	}
	r.readers.Wait()
	for i, m := range r.o.Ranks {
		// Unusable bytes at the end are not an error: their requests fail with the cause of the exit.
		_ = m.Conn.RecvUnsent(m.Words, func(f *ipc.Frame) { _ = r.locked(i, f) })
		m.Conn.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, a := range r.answers {
		a.close()
	}
	for _, m := range r.queue {
		m.close()
	}
	r.queue = nil
	_ = r.o.Front.Flush()
	r.o.Front.Close()
}

func (r *Relay) readFront() {
	for {
		if err := r.o.Front.Recv(func(f *ipc.Frame) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.request(f)
		}); err != nil {
			return // the slot is gone; the supervisor ends the ranks
		}
	}
}

func (r *Relay) readRank(i int) {
	var fault error
	for {
		err := r.o.Ranks[i].Conn.Recv(func(f *ipc.Frame) { fault = errors.Join(fault, r.locked(i, f)) })
		if err = errors.Join(fault, err); err != nil {
			r.mu.Lock()
			r.lost = true
			r.mu.Unlock()
			r.o.Ranks[i].Lost(err)
			return
		}
	}
}

func (r *Relay) locked(rank int, f *ipc.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fromRank(rank, f)
}

// request handles a frame of the front.
func (r *Relay) request(f *ipc.Frame) {
	switch {
	case r.closed:
	case f.Kind == ipc.KindDrop:
		if a := r.answers[f.ID]; a != nil && a.batch != nil {
			a.dropped = true
			return
		}
		r.pass(own(f))
	case f.Kind == ipc.KindItem || f.Kind == ipc.KindItemsEnd: // of the request's streamed input
		if m := own(f); f.ID == r.running {
			r.pass(m)
		} else {
			m.close() // it has ended
		}
	case f.Kind == ipc.KindPredict && f.Flags&ipc.FlagBatchItem != 0: // it waits in the ranks for its batch
		r.expect(f.ID)
		r.pass(own(f))
	default:
		r.queue = append(r.queue, own(f))
		r.next()
	}
}

// next begins the next request, if none runs.
func (r *Relay) next() {
	for r.running == 0 && len(r.queue) > 0 {
		m := r.queue[0]
		r.queue = r.queue[1:]
		claimed := r.o.Words.Begin(m.frame.ID)
		if claimed {
			r.begin(m)
		}
		if claimed || m.frame.Kind == ipc.KindBatch {
			r.pass(m) // the ranks cannot claim a batch that the front has taken back, and give up its items
		}
		m.close()
	}
}

func (r *Relay) begin(m *message) {
	id := m.frame.ID
	r.running, r.began, r.stopping = id, time.Now(), false
	if m.frame.Kind == ipc.KindBatch {
		r.batch = &batch{left: len(r.o.Ranks)}
		var items struct{ IDs []uint64 }
		_ = json.Unmarshal(m.frame.Body, &items) // this server wrote it
		for _, item := range items.IDs {
			if a := r.answers[item]; a != nil {
				a.batch = r.batch
			}
		}
	} else {
		r.expect(id)
		r.answers[id].traced = m.frame.Flags&ipc.FlagTrace != 0
	}
	for _, rank := range r.o.Ranks {
		rank.Words.ResetSteps()
		rank.Words.Queue(id)
	}
}

// pass sends a frame of the front to all ranks. Only rank 0 is asked for events and times.
func (r *Relay) pass(m *message) {
	for i, rank := range r.o.Ranks {
		f := m.frame
		if i > 0 {
			f.Flags &^= ipc.FlagEvents | ipc.FlagTrace
		}
		if err := rank.Conn.Pass(&f, m.fd); err == nil {
			_ = rank.Conn.Flush() // fails only for a rank that is gone, whose reader notices it
		}
	}
	m.close()
}

// toFront sends a frame to the front.
func (r *Relay) toFront(m *message) {
	if !r.closed && r.o.Front.Pass(&m.frame, m.fd) == nil {
		_ = r.o.Front.Flush()
	}
	m.close()
}

// Cancel stops all ranks at one step, if what runs is to be canceled.
func (r *Relay) Cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == 0 || r.stopping || !r.o.Words.IsCanceled(r.running) {
		return
	}
	r.stopping = true
	words := make([]ipc.Slot, len(r.o.Ranks))
	for i, rank := range r.o.Ranks {
		words[i] = rank.Words
	}
	ipc.StopTogether(words)
}

// Untaken returns a rank that has not taken the request that runs, and the request's id; 0 if there is none.
func (r *Relay) Untaken() (rank int, id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, m := range r.o.Ranks {
		if r.running != 0 && m.Words.Claim(r.running) == ipc.ClaimQueued {
			return i, r.running
		}
	}
	return 0, 0
}

// fromRank handles a frame of a rank.
func (r *Relay) fromRank(rank int, f *ipc.Frame) error {
	switch {
	case r.closed:
		return nil
	case f.Kind.Ends():
		return r.ended(rank, f)
	case f.Kind == ipc.KindBatchDone:
		return r.batchDone(rank, f)
	case f.Kind == ipc.KindPrepared:
		return r.prepared(f)
	case f.Kind == ipc.KindItemsRead:
		r.itemsRead(rank, f)
		return nil
	case rank == 0 || f.Kind == ipc.KindCalls:
		r.toFront(own(f))
		return nil
	default:
		return r.o.Ranks[rank].Took(f)
	}
}

// prepared tells the front that an item can be in a batch, once that is so on all ranks.
func (r *Relay) prepared(f *ipc.Frame) error {
	a := r.answers[f.ID]
	if a == nil {
		return fmt.Errorf("%w: a frame of kind %s for %#x, which is not outstanding", ipc.ErrProtocol, f.Kind, f.ID)
	}
	if a.prepared++; a.prepared == len(r.o.Ranks) {
		r.toFront(own(f))
	}
	return nil
}

// itemsRead tells the front how many items of a streamed input all ranks have taken.
func (r *Relay) itemsRead(rank int, f *ipc.Frame) {
	a := r.answers[f.ID]
	if a == nil {
		return // it has ended
	}
	if a.taken == nil {
		a.taken = make([]uint64, len(r.o.Ranks))
	}
	before := slices.Min(a.taken)
	a.taken[rank] += f.Nanos
	if n := slices.Min(a.taken) - before; n > 0 {
		r.toFront(&message{ipc.Frame{Kind: ipc.KindItemsRead, ID: f.ID, Nanos: n}, -1})
	}
}

// batchDone ends a batch once all ranks have ended it. Answers of its items follow, as the slot expects.
func (r *Relay) batchDone(rank int, f *ipc.Frame) error {
	b := r.batch
	if b == nil || f.ID != r.running {
		return fmt.Errorf("%w: the end of a batch, %#x, which does not run", ipc.ErrProtocol, f.ID)
	}
	if rank == 0 || b.end == nil {
		b.end = own(f)
	}
	if b.left--; b.left > 0 {
		return nil
	}
	r.batch = nil
	r.free()
	r.release(b)
	r.next()
	return nil
}

// release sends the front the end of a batch, and the answers that were held for it.
func (r *Relay) release(b *batch) {
	if b.sent || b.end == nil {
		return
	}
	b.sent = true
	r.toFront(b.end)
	for _, m := range b.held {
		r.toFront(m)
	}
	b.held = nil
}

func (r *Relay) free() {
	// Its start is a step.
	if took := time.Since(r.began); took > r.o.Grace && r.o.Ranks[0].Words.Steps() < 2 {
		r.o.Stepless(took)
	}
	r.o.Words.End()
	r.running = 0
}
