package predict

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/nearest"
)

// Reasons why a prediction was not accepted. Nothing of it remains.
var (
	// ErrInFlight means that a prediction of that id is in flight.
	ErrInFlight = Refused(RefusedID, "a prediction with this ID is already in flight")
	// ErrEnded means that a prediction of that id has ended, and the job queue keeps its result.
	ErrEnded = Refused(RefusedID,
		"a prediction with this ID has ended, and the job queue keeps its result: GET it, or use another ID")
	// ErrOtherInput means that the id is of a prediction with another input, whose result is kept.
	ErrOtherInput = Refused(RefusedID,
		"the job queue has a prediction with this ID and another input: use another ID")
	// ErrBusy means that every slot is in use and the queue is off.
	ErrBusy error = &refusedError{"At capacity - all prediction slots busy", Refusal{RefusedBusy, time.Second, true}}
	// ErrQueueTimeout means that the deadline passed before a slot was free. The model never received the prediction.
	ErrQueueTimeout error = &refusedError{
		"Timed out in the queue before a prediction slot was free", Refusal{RefusedLate, time.Second, true},
	}
)

// ErrNotStreaming means that the request asks for a stream, and the model returns no iterator. See NotStreamingError.
var ErrNotStreaming error = &NotStreamingError{Function: "the model's function"}

// NotStreamingError is ErrNotStreaming with the name of the function.
type NotStreamingError struct {
	Function string // "Runner.run()"
	Batched  bool   // it has @cog.batch, which excludes @cog.streaming
}

func (e *NotStreamingError) Error() string {
	const refusal, instead = "This model does not support streaming responses. ", "ask without Accept: text/event-stream."
	if e.Batched {
		return refusal + e.Function + " has @cog.batch, and predictions of a batch cannot be streamed: " + instead
	}
	return refusal + "Add @cog.streaming to " + e.Function +
		", with Iterator[...] or ConcatenateIterator[str] as its return type, to enable SSE. For one answer, " + instead
}

// Is reports whether target is ErrNotStreaming.
func (e *NotStreamingError) Is(target error) bool { return target == ErrNotStreaming }

// ErrNotStreamed means that the request sends items, and the model has no streamed input.
var ErrNotStreamed = Refused(RefusedBody, "this model has no streamed input, a parameter of type Iterator[...]: send JSON")

// ErrTrainingStream means that the request asks for a stream of a training.
var ErrTrainingStream = Refused(RefusedStream, "Training endpoints do not support streaming responses. "+
	"Ask without Accept: text/event-stream; GET /trainings/{id} has the state and the logs of a training that runs.")

// NoFunctionError means that the model has not the function that a request is for, but others.
type NoFunctionError struct {
	Name  string // "" means that it has no run
	Known []string
	Root  string // where the model's routes are
}

func (e *NoFunctionError) Error() string {
	at := e.Root + "/functions/"
	if e.Name == "" {
		return "This model has no run(), only functions: ask " + at + strings.Join(e.Known, "/predictions or "+at) +
			"/predictions"
	}
	known := "It has " + strings.Join(e.Known, ", ")
	if len(e.Known) == 0 {
		known = "It has none: @cog.function on a method makes one"
	}
	return "This model has no function " + strconv.Quote(e.Name) + ". " + known + nearest.Hint(e.Name, e.Known)
}

var ErrNoTraining = Refused(RefusedTraining, "this model has no training interface")

// Reasons why a prediction cannot be followed.
var (
	// ErrTooManySubscribers means that it has MaxSubscribers already.
	ErrTooManySubscribers error = &refusedError{
		"too many subscribers follow this prediction", Refusal{Kind: RefusedFollower, RetryAfter: time.Second},
	}
	// ErrNotObserved means that its request did not ask for events, so none are recorded.
	ErrNotObserved = errors.New("the events of this prediction are not recorded")
	// ErrStopped means that the caller stopped the subscription.
	ErrStopped = errors.New("the subscription was stopped")
)

// MissedError means that a subscriber was too slow, or subscribed too late, for events that are no longer stored.
type MissedError struct {
	// Replay means that the events were dropped before it subscribed.
	Replay  bool
	Skipped uint64 // how many events it missed
}

func (e *MissedError) Error() string {
	if e.Replay {
		return "SSE stream replay truncated; events were dropped"
	}
	return "SSE stream lagged; events were dropped"
}

// FileLimitError means that a request's body has too many files, or one that is too large.
type FileLimitError struct{ Reason string }

func (e *FileLimitError) Error() string { return e.Reason }

// NotReadyError says why the server accepts no predictions: not set up, not loaded, draining, or defunct. RetryAfter is
// when a retry makes sense; 0 means unknown.
type NotReadyError struct {
	Reason     string
	RetryAfter time.Duration
}

func (e *NotReadyError) Error() string { return e.Reason }

// QueueFullError means that the queue is full. RetryAfter is when a retry makes sense.
type QueueFullError struct{ RetryAfter time.Duration }

func (e *QueueFullError) Error() string { return "The queue is full" }

// UnavailableError means that the job queue cannot be asked, or takes nothing now. Nothing is stored.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return e.Reason }

// InDoubtError means that a prediction may have been accepted: the job queue did not answer in time.
type InDoubtError struct{ ID string }

func (e *InDoubtError) Error() string {
	return "The job queue did not answer. The prediction may have been accepted: repeat it with PUT and its id"
}

// Problem is one entry of a 422 answer.
type Problem struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

const (
	TypeMissing = "value_error.missing"
	TypeValue   = "value_error"
)

// ValidationError lists all that is wrong with a request's values.
type ValidationError struct {
	Problems []Problem
	Warnings []string // about unknown inputs; see Prepared
}

func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = strings.Join(p.Loc, ".") + ": " + p.Msg
	}
	return strings.Join(parts, "; ")
}
