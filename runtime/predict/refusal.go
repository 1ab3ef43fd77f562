package predict

import (
	"errors"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/rawjson"
)

// RefusalKind is why a request did not become a prediction. Protocols and metrics decide by it alone.
type RefusalKind uint8

const (
	RefusedInternal    RefusalKind = iota // a bug of the server; the log has it
	RefusedBody                           // it cannot be read
	RefusedValues                         // its values do not match the model's schema
	RefusedSize                           // it exceeds a limit of the server
	RefusedTraining                       // the model has no training interface
	RefusedFunction                       // the model has no such function
	RefusedStream                         // the function does not stream
	RefusedID                             // its id is of another prediction
	RefusedBusy                           // every slot is busy, and the queue is off
	RefusedFull                           // the queue is full
	RefusedLate                           // its deadline passed before a slot was free
	RefusedUnavailable                    // no worker takes it: not set up, not loaded, draining, or defunct
	RefusedMemory                         // the memory budget has no room now
	RefusedBudget                         // it is larger than the memory budget allows
	RefusedFollower                       // too many clients follow the prediction
	RefusedQueue                          // the job queue takes nothing now
	RefusedInDoubt                        // the job queue did not answer: it may have been accepted

	RefusalKinds
)

// Refusal says what a client that is refused may do.
type Refusal struct {
	Kind RefusalKind
	// RetryAfter is when a retry makes sense; 0 means never, or that nothing but another request helps.
	RetryAfter time.Duration
	// Elsewhere means that nothing of the request remains, and that another server may take it.
	Elsewhere bool
}

// refuser is an error that says so.
type refuser interface{ Refusal() Refusal }

// RefusalOf returns what an error of Create, Run or the job queue means for a client.
func RefusalOf(err error) Refusal {
	var known refuser
	var syntax *rawjson.SyntaxError
	switch {
	case errors.As(err, &known):
		return known.Refusal()
	case errors.Is(err, memory.ErrFull):
		return Refusal{RefusedMemory, time.Second, true}
	case errors.Is(err, memory.ErrTooLarge):
		return Refusal{RefusedBudget, time.Second, true}
	case errors.As(err, &syntax):
		return Refusal{Kind: RefusedBody}
	}
	return Refusal{}
}

// refusedError is an error that says no more than its text.
type refusedError struct {
	text string
	is   Refusal
}

func (e *refusedError) Error() string    { return e.text }
func (e *refusedError) Refusal() Refusal { return e.is }

// Refused returns an error of that kind, for requests that no retry helps.
func Refused(kind RefusalKind, text string) error { return &refusedError{text, Refusal{Kind: kind}} }

// Refusal implements the errors' part of RefusalOf.
func (e *NotStreamingError) Refusal() Refusal { return Refusal{Kind: RefusedStream} }
func (e *NoFunctionError) Refusal() Refusal   { return Refusal{Kind: RefusedFunction} }
func (e *FileLimitError) Refusal() Refusal    { return Refusal{Kind: RefusedSize} }
func (e *ValidationError) Refusal() Refusal   { return Refusal{Kind: RefusedValues} }
func (e *InDoubtError) Refusal() Refusal      { return Refusal{RefusedInDoubt, time.Second, false} }
func (e *UnavailableError) Refusal() Refusal  { return Refusal{RefusedQueue, time.Second, true} }
func (e *NotReadyError) Refusal() Refusal {
	return Refusal{RefusedUnavailable, max(time.Second, e.RetryAfter), true}
}

func (e *QueueFullError) Refusal() Refusal {
	return Refusal{RefusedFull, max(time.Second, e.RetryAfter), true}
}

// reasons are the refusals that metrics count; the others are the request's own fault.
var reasons = [RefusalKinds]string{
	RefusedValues: ReasonValidation, RefusedBusy: ReasonCapacity, RefusedFull: ReasonCapacity,
	RefusedMemory: ReasonMemory, RefusedUnavailable: ReasonUnavailable,
}

// Fix says what who runs the server may do so that such requests are not refused; "" means nothing helps.
func (r Refusal) Fix() string {
	if r.Kind == RefusedBusy {
		return "start the server with --queue 64, or PINION_QUEUE=64: requests then wait for a slot"
	}
	return ""
}

// Reason returns how metrics count a refusal; "" means not at all.
func (r Refusal) Reason() string { return reasons[r.Kind] }
