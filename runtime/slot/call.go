package slot

import (
	"errors"
	"os"
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/moves"
	"pinion/runtime/predict"
)

type state uint8

const (
	fresh      state = iota // not submitted
	queued                  // in the pool's queue
	assigned                // handed to a slot
	unassigned              // taken off its slot: to be queued, assigned or ended before the lock is given back
	ended                   // Result is final
)

// callMoves is the table of legal moves.
var callMoves = moves.Table[state]{
	fresh:      1<<queued | 1<<assigned | 1<<ended,
	queued:     1<<assigned | 1<<ended,
	assigned:   1 << unassigned,
	unassigned: 1<<queued | 1<<assigned | 1<<ended,
	ended:      0,
}

// moveTo makes a move that the table allows. Another one is a bug: it is refused, and counted for the tests.
func (c *Call) moveTo(to state) bool {
	if !callMoves.Allows(c.state, to) {
		c.pool.illegalMoves++
		return false
	}
	c.state = to
	return true
}

// Result is how a call ended.
type Result struct {
	// Kind is one of the kinds that end a prediction; 0 where Err is set.
	Kind ipc.Kind
	// Body is the reply's fragment of the prediction object.
	Body []byte
	// Release frees the memory of Body; nil if there is nothing to free.
	Release func()
	// Logs is what the model wrote while it had the call.
	Logs []byte
	// Elapsed is how long the model had the call.
	Elapsed time.Duration
	// Waited is how long the call waited for a slot or behind other calls; 0 if the model never had it.
	Waited time.Duration
	// Resent means that the call was sent to several slots. Its answer proves only for one of them that the call's bytes
	// were read.
	Resent bool
	// Kept means that the model still uses the call's shared memory.
	Kept bool
	// Canceled means that the call was canceled, even if the model ended in another way.
	Canceled bool
	// Err is nil or one of ErrCanceled, predict.ErrQueueTimeout, *WorkerExitError, *TimeoutError, *predict.NotReadyError.
	Err error
}

type Text struct {
	Source string // "stdout" or "stderr"; "" where it is not known
	Text   []byte
}

// EventSink receives the events of a running call, in order. The goroutine that reads the slot's socket calls it,
// sometimes with the pool's lock held: a method must neither block nor call the pool. Its argument is valid until it
// returns.
type EventSink interface {
	Started()
	// Output takes an item that the model yielded. alone means that no other call's frames come by the same socket, so
	// that it may wait for those who read the items.
	Output(item []byte, alone bool)
	// Flush follows the last of the outputs that were read together, without the lock.
	Flush()
	Metric(metric []byte)
	Log(source string, text []byte)
}

// Call is one prediction on its way through a pool. All exported fields except Result are set before Pool.Submit and do
// not change afterwards; Result is read after Wait.
type Call struct {
	Input []byte // a JSON object
	// Parts is Input as it is sent, in parts, with tensors in place of their placeholders; nil means Input itself.
	Parts   [][]byte
	Context []byte // a JSON object, or nil
	Files   []byte // where output files go: the member "files" of the request, or nil
	Name    string // the prediction's id, for the log
	// BodyFile makes the file that carries a large request to the worker. Nil means a memory file. See ipc.Conn.QueueIn.
	BodyFile func(size int64) (*os.File, error)
	// Shared is memory that may hold its tensors and those of its answer, or nil. See
	// ipc.Conn.QueuePredict.
	Shared *ipc.SharedFile
	// Events receives the call's events, logs included. If nil, the worker sends none, and the Result has the logs.
	Events EventSink
	// Deadline ends the call if the model has not begun it by then. If zero, only Options.QueueTimeout does.
	Deadline time.Time
	// Key restricts batches: calls share a batch only if their keys are equal.
	Key string
	// Inlet has the items of its streamed input, or is nil.
	Inlet *predict.Inlet
	// Group is the call's group, or nil. See Pool.Admit.
	Group *predict.Group
	// Of is the prediction, for its function and Options.OnCalls.
	Of *predict.Prediction
	// Traced is what the call's trace needs; nil means it is not traced.
	Traced *Traced
	// OnSettled is called once, when the call has ended and its worker has sent its answer. A canceled call stays with its
	// batch until the worker is done with that. It must neither block nor call the pool. May be nil.
	OnSettled func()
	Result    Result

	pool *Pool

	Train bool // the call is for the train function; next to the other flags, so that all take eight bytes

	// Guarded by pool.mu.
	state      state
	resent     bool // another slot had it before
	canceling  bool
	isolated   bool // a worker died while it ran beside others, so it gets a worker to itself
	emitted    bool // the model has sent an event of it
	yielded    bool // the leader's: it is in channel.yielded
	overLimit  bool // it is canceled because it ran for longer than Options.PredictTimeout
	slot       *Slot
	id         uint64 // of its frames, while assigned
	since      time.Time
	deadline   time.Time
	graceTimer *time.Timer
	waiter     waiter
	logs       callLogs
	batch      batchItem
	links
}

type waiter struct {
	wake      chan struct{} // a token makes the goroutine look again
	parked    bool          // it sleeps on wake
	following bool          // it is in the followers of its slot's channel
	leads     *channel      // the channel that it reads
}

// batchItem is the state of a call as a member of a batch.
type batchItem struct {
	item     batch.Item[*Call]
	queue    *batch.Batcher[*Call] // the last queue of the item
	run      *batchRun             // the batch of the call, until it is answered
	alone    bool                  // it runs alone, because a worker died while it was in a batch
	prepared bool                  // its worker has prepared it
	suspect  bool                  // the worker that was to prepare it died, so the next worker gets no other call
}

// Submitted returns when the call was submitted, for the goroutine that does it.
func (c *Call) Submitted() time.Time { return c.since }

// function returns the name of the function that it is for; "" means the model's own.
func (c *Call) function() string {
	if c.Of == nil {
		return ""
	}
	return c.Of.Request.Function
}

// links makes a Call a member of one list at a time.
type links struct{ prev, next *Call }

func NewCall(name string, input, context []byte) *Call {
	return &Call{Name: name, Input: input, Context: context, waiter: waiter{wake: wakes.Get().(chan struct{})}}
}

// wakes holds the wake channels of ended calls, for reuse. A late token makes another call look once more, which is
// harmless.
var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// wake wakes the goroutine in Wait, if it sleeps.
func (c *Call) wake() {
	select {
	case c.waiter.wake <- struct{}{}:
	default:
	}
}

// withLimit returns r, or a TimeoutError where the call was canceled at its runtime limit and did not succeed.
func (c *Call) withLimit(r Result) Result {
	if !c.overLimit || r.Kind == ipc.KindSucceeded || r.Err != nil && !errors.Is(r.Err, ErrCanceled) {
		return r
	}
	r.Kind, r.Err = 0, &TimeoutError{After: c.pool.o.PredictTimeout}
	return r
}
