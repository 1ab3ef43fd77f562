package jobqueue

import (
	"context"
	"log/slog"
	"time"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/runtime/trace"
	"pinion/runtime/webhook"
)

// Options of a member.
type Options struct {
	// Connect connects to NATS in the background. changed is called with nil when the connection is made, else with why
	// it was lost.
	Connect func(changed func(lost error)) *state.Conn
	Queue   state.Options
	// Attempts is how many runs of a prediction may lose their server.
	Attempts int
	// MaxBody is the largest body as JSON, in bytes.
	MaxBody int64
	// Slots returns how many jobs could run at once, and how many slots are free. It is called only if Local is set.
	Slots func() (slots, free int)
	// Tracer traces the jobs that run here; nil means they are not traced.
	Tracer *trace.Tracer
	// Version of this server, for operators.
	Version string
	// Local runs jobs; nil means this member runs none.
	Local Local
	// Schema returns what other members may know of a version of the model of Local, or ("") of the model; false means
	// it is not known yet.
	Schema func(version string) (state.Schema, bool)
	// Versions returns the versions of the model that Local has, and how many slots each has; nil means it has none.
	Versions func() map[string]int
	// Checker checks requests where there is no Local; nil means they are not checked.
	Checker Checker
	// Memory bounds what this member has of large bodies and results, and of the events that clients follow; nil means
	// no bound.
	Memory *memory.Budget
	// Webhooks posts the webhooks of jobs that have ended, of other members' jobs too.
	Webhooks *webhook.Account
	Logger   *slog.Logger
}

// Checker checks requests by what a server wrote of its model, or of a version of it.
type Checker interface {
	// SetSchema takes what the last server wrote. It is called before Check, and again where that has changed.
	SetSchema(s state.Schema)
	// Check checks a request as Local.Check does. It is called only for a version whose schema is set.
	Check(req *predict.Request, most int) (input []byte, warnings []string, err error)
}

// Local is the model of this server, with one or several versions.
type Local interface {
	// Check validates a request, and returns its input as clients see it.
	Check(req *predict.Request, most int) (input []byte, warnings []string, err error)
	// AwaitCapacity waits until predictions of a version of the model, or ("") of the model, could run at once, and
	// returns how many, or 0 if ctx has ended. AcquireSlot reserves a slot for one; nil means none is free.
	AwaitCapacity(ctx context.Context, version string) int
	AcquireSlot(version string) Slot
	// MeanDuration returns how long predictions ran lately, or 0 if that is not known or the model takes batches.
	MeanDuration(version string) time.Duration
	// NewAttachments returns an empty store for the files of a request's body.
	NewAttachments() request.Attachments
	// Find returns the prediction in flight with that id, or nil.
	Find(kind predict.Kind, id string) *predict.Prediction
	// Result returns the prediction with that id, in flight or retained, as clients see it. The caller releases it.
	Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool)
	// Cancel cancels the prediction with that id; false means it is not in flight, and did not end so.
	Cancel(kind predict.Kind, id string) bool
}

// Slot is a slot of Local's that is reserved for a job.
type Slot interface {
	consume.Slot
	// Assign creates a prediction for a request with an Attempt, which then owns the slot.
	Assign(req predict.Request) (*predict.Prediction, error)
	// VisibleInput returns an input as clients see it.
	VisibleInput(kind predict.Kind, function string, input []byte) []byte
}
