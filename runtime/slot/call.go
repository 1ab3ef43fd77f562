package slot

import (
	"fmt"
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
)

// state is where a call stands.
type state uint8

const (
	fresh    state = iota // not submitted
	queued                // waits in the pool's queue
	assigned              // handed to a slot
	ended                 // Result is final
)

// moves is the table of legal moves; assigned falls back to queued when its worker is lost before
// the model had it.
var moves = [...][]state{
	fresh:    {queued, assigned, ended},
	queued:   {assigned, ended},
	assigned: {queued, ended},
	ended:    {},
}

// canMove tells whether a call may go from one state to another.
func canMove(from, to state) bool {
	for _, s := range moves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// Result is how a call ended.
type Result struct {
	// Kind is one of the kinds that end a prediction; 0 where Err is set.
	Kind ipc.Kind
	// Body is the reply's fragment of the prediction object.
	Body []byte
	// Release gives Body back; nil where nothing is to be given back.
	Release func()
	// Logs is what the model wrote while it had the call.
	Logs []byte
	// Elapsed is how long the model had the call.
	Elapsed time.Duration
	// Waited is for how long before that its slot, or every slot, had others; 0 where the model never had it.
	Waited time.Duration
	// Moved: it was sent to more than one slot, of which the answer shows for one alone that the call's bytes are read.
	Moved bool
	// Canceled: somebody had asked for its end, whatever its model made of that.
	Canceled bool
	// Err: ErrCanceled, predict.ErrQueueTimeout, *LostError, *TimeoutError, *predict.NotReadyError.
	Err error
}

// Text is something that a model wrote.
type Text struct {
	Source string // "stdout" or "stderr"; "" where it is not known
	Text   []byte
}

// Teller is told what happens to a call as it happens. Its methods are called in order, by the goroutine
// that reads the slot's socket and at times with the pool's lock held: they must neither block nor call the pool.
// What they are given is valid during the call only.
type Teller interface {
	Started()
	Output(item []byte)
	Metric(metric []byte)
	Log(source string, text []byte)
}

// Call is one prediction on its way through a pool. All but Result is set before Pool.Submit and not
// changed afterwards; Result is read after Wait.
type Call struct {
	Input   []byte // a JSON object
	Context []byte // a JSON object, or nil
	Files   []byte // where output files go: the member "files" of the request, or nil
	Name    string // the prediction's id, for the log
	Train   bool   // it is the train function that is called
	// Tell is told what happens meanwhile, logs included; nil: the model is not asked to, and the logs are
	// in the Result.
	Tell Teller
	// Deadline ends the call where the model has not begun it by then; zero: the pool's own rule alone.
	Deadline time.Time
	// Key: of a model whose predictions ride together those do whose keys are equal.
	Key string
	// Gone, where it is not nil, is called once, when the call has ended and the model can have nothing of it any more:
	// one that is canceled while others ride is with them until all of them are done. The pool's lock is held: it must
	// neither block nor call the pool.
	Gone   func()
	Result Result

	pool *Pool
	wake chan struct{} // one token: look again

	// Guarded by pool.mu.
	state     state
	slot      *Slot
	id        uint64 // of its frames, while assigned
	moved     bool   // it had another before
	since     time.Time
	deadline  time.Time
	canceling bool
	overtime  bool  // it is cancelled because it ran for too long
	parked    bool  // its goroutine sleeps on wake
	following bool  // in slot.followers
	leads     *Slot // whose leader it is
	grace     *time.Timer
	logs      []byte
	cut       int           // bytes of logs that were dropped
	lines     [2]lineLength // of stdout and stderr
	item      batch.Item[*Call]
	ride      *ride                 // that it is on, until it has its answer
	alone     bool                  // it rides by itself: it was with others when a worker died
	ready     bool                  // its worker has prepared it
	suspect   bool                  // it was with a worker that died, to be prepared: the next has nobody beside it
	line      *batch.Batcher[*Call] // that its item was in last
	links
}

// links makes a Call a member of one list at a time.
type links struct{ prev, next *Call }

// NewCall makes a call.
func NewCall(name string, input, context []byte) *Call {
	return &Call{Name: name, Input: input, Context: context, wake: wakes.Get().(chan struct{})}
}

// wakes are the channels of calls that have ended. A token that comes late makes another call look once more,
// which does no harm.
var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// poke wakes the goroutine in Wait; harmless where it is awake already.
func (c *Call) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// maxLogs is how much of its logs a call keeps, in bytes. The server's own log has the rest.
const maxLogs = 16 << 20

// addLogs tells of text of the model's, or keeps it as far as there is room. Called with the lock held.
func (c *Call) addLogs(source string, text []byte) {
	line := &c.lines[0]
	if source == "stderr" {
		line = &c.lines[1]
	}
	text = line.trim(text)
	if c.Tell != nil {
		c.Tell.Log(source, text)
		return
	}
	room := min(len(text), maxLogs-len(c.logs))
	c.logs = append(c.logs, text[:room]...)
	c.cut += len(text) - room
}

// takeLogs is the call's logs, with a word about what was dropped. Called with the lock held.
func (c *Call) takeLogs() []byte {
	logs := c.logs
	if c.cut > 0 {
		logs = fmt.Appendf(logs, "\n[%d bytes of log were cut: a prediction keeps %d MiB of it]\n", c.cut, maxLogs>>20)
	}
	c.logs = nil
	return logs
}

// list is a first-in first-out list of calls.
type list struct {
	head, tail *Call
	len        int
}

func (l *list) pushBack(c *Call) {
	c.prev, c.next = l.tail, nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.next = c
	}
	l.tail = c
	l.len++
}

// putBack enters a call in its place by the time at which it came, which is not far from the head.
func (l *list) putBack(c *Call) {
	c.prev, c.next = nil, l.head
	for c.next != nil && c.next.since.Before(c.since) {
		c.prev, c.next = c.next, c.next.next
	}
	if c.prev == nil {
		l.head = c
	} else {
		c.prev.next = c
	}
	if c.next == nil {
		l.tail = c
	} else {
		c.next.prev = c
	}
	l.len++
}

func (l *list) remove(c *Call) {
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.tail = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	l.len--
}
