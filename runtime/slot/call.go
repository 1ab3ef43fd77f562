package slot

import (
	"fmt"
	"time"

	"pinion/ipc"
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
	// Err: ErrCanceled, predict.ErrQueueTimeout, *LostError, *predict.NotReadyError.
	Err error
}

// Call is one prediction on its way through a pool. Input, Context and Name are set before
// Pool.Submit and not changed afterwards; Result is read after Wait.
type Call struct {
	Input   []byte // a JSON object
	Context []byte // a JSON object, or nil
	Name    string // the prediction's id, for the log
	Result  Result

	pool *Pool
	wake chan struct{} // one token: look again

	// Guarded by pool.mu.
	state     state
	slot      *Slot
	id        uint64 // of its frames, while assigned
	since     time.Time
	deadline  time.Time
	canceling bool
	parked    bool  // its goroutine sleeps on wake
	following bool  // in slot.followers
	leads     *Slot // whose leader it is
	grace     *time.Timer
	logs      []byte
	cut       int // bytes of logs that were dropped
	links
}

// links makes a Call a member of one list at a time.
type links struct{ prev, next *Call }

// NewCall makes a call.
func NewCall(name string, input, context []byte) *Call {
	return &Call{Name: name, Input: input, Context: context, wake: make(chan struct{}, 1)}
}

// poke wakes the goroutine in Wait; harmless where it is awake already.
func (c *Call) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// maxLogs is how much of its logs a call keeps, in bytes. The server's own log has the rest.
const maxLogs = 16 << 20

// addLogs keeps text of the model's, as far as there is room. Called with the lock held.
func (c *Call) addLogs(text []byte) {
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

func (l *list) pushFront(c *Call) {
	c.prev, c.next = nil, l.head
	if l.head == nil {
		l.tail = c
	} else {
		l.head.prev = c
	}
	l.head = c
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

func (l *list) popFront() *Call {
	c := l.head
	if c != nil {
		l.remove(c)
	}
	return c
}
