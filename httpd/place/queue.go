package place

import (
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Queue keeps accepted predictions until they have ended, on whichever server of the model they run.
type Queue interface {
	// Accept stores a prediction. The error is one of Route.Assign's, *predict.UnavailableError or
	// *predict.InDoubtError.
	Accept(s request.Submission) (request.Accepted, error)
	// Find returns the prediction object of an accepted prediction, or of one that another server runs without the
	// queue; nil means none is known. If calls, that of an accepted prediction has its calls of other models while it
	// runs, too.
	Find(kind predict.Kind, id string, calls bool) (request.Accepted, error)
	// Submit is Accept for a client that waits: what it returns represents the accepted prediction, wherever that runs.
	// If outlives, the prediction goes on when this server is lost.
	Submit(s request.Submission, outlives bool) (*predict.Prediction, error)
	// Attach returns a prediction that represents an accepted one, for a client that only reads, or nil if none is
	// known. It waits for a queue that does not answer only where the answer is needed.
	Attach(kind predict.Kind, id string, needed bool) (*predict.Prediction, error)
	// AttachDirect does the same for a prediction that another server runs without the queue.
	AttachDirect(kind predict.Kind, id string) *predict.Prediction
	// Cancel cancels an accepted prediction, or one of this or another server without the queue; false means none is
	// known, or it has ended otherwise.
	Cancel(kind predict.Kind, id string) (bool, error)
}

// QueueOptions say which requests go to a queue.
type QueueOptions struct {
	// Overflow means that a request for which no slot is free waits in the queue, for Wait() at most; 0 means forever.
	// A request with Prefer: wait=N is accepted, and Wait does not end it.
	Overflow bool
	Wait     func() time.Duration
	// All means that every request goes to the queue, because this server has no model.
	All bool
}
