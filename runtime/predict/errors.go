package predict

import (
	"errors"
	"strings"
	"time"
)

// Refusals: why a prediction was not taken. Each leaves nothing behind.
var (
	// ErrInFlight: a prediction of that id is in flight.
	ErrInFlight = errors.New("a prediction with this ID is already in flight")
	// ErrBusy: every slot is taken and the queue is off.
	ErrBusy = errors.New("At capacity - all prediction slots busy")
	// ErrQueueTimeout: the deadline passed before a slot was free; the model never saw it.
	ErrQueueTimeout = errors.New("Timed out in the queue before a prediction slot was free")
)

// ErrNotStreaming: a stream was asked for, of a model that has none.
var ErrNotStreaming = errors.New("This model does not support streaming responses. " +
	"Add @cog.streaming to predict() to enable SSE.")

// ErrTrainingStream: a stream was asked for, of a training.
var ErrTrainingStream = errors.New("Training endpoints do not support streaming responses.")

// ErrNoTraining: the model has no training interface.
var ErrNoTraining = errors.New("this model has no training interface")

// Why a prediction cannot be followed.
var (
	// ErrTooManySubscribers: MaxSubscribers follow it.
	ErrTooManySubscribers = errors.New("too many subscribers follow this prediction")
	// ErrNotTold: nobody asked for its events when it was made.
	ErrNotTold = errors.New("the events of this prediction are not recorded")
	// ErrStopped: the subscriber itself asked for the end.
	ErrStopped = errors.New("the subscription was stopped")
)

// MissedError says that a subscriber was too slow, or came too late, for events that are not kept any more.
type MissedError struct {
	// Replay: they were gone when it came.
	Replay  bool
	Skipped uint64 // how many it missed
}

func (e *MissedError) Error() string {
	if e.Replay {
		return "SSE stream replay truncated; events were dropped"
	}
	return "SSE stream lagged; events were dropped"
}

// FileLimitError: a file that came in a request's body is not taken, because of its size or their number.
type FileLimitError struct{ Reason string }

func (e *FileLimitError) Error() string { return e.Reason }

// NotReadyError says why the server takes no predictions: not set up, draining, or defunct.
type NotReadyError struct{ Reason string }

func (e *NotReadyError) Error() string { return e.Reason }

// QueueFullError is a full queue, with the time after which a retry makes sense.
type QueueFullError struct{ RetryAfter time.Duration }

func (e *QueueFullError) Error() string { return "The queue is full" }

// Problem is one entry of a 422 answer.
type Problem struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

// The types of a Problem.
const (
	TypeMissing = "value_error.missing"
	TypeValue   = "value_error"
)

// ValidationError is everything that is wrong with a request's values.
type ValidationError struct {
	Problems []Problem
	Warnings []string // of unknown inputs: see Prepared
}

func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = strings.Join(p.Loc, ".") + ": " + p.Msg
	}
	return strings.Join(parts, "; ")
}
