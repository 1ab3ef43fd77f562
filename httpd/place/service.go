package place

import (
	"context"

	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Service answers requests: a model of this server, or one whose requests are jobs of a queue.
type Service interface {
	// NewAttachments returns an empty store for the files that a request's body carries. The caller closes it, unless
	// Route.Assign took it over with the request.
	NewAttachments() request.Attachments
	// Find returns the prediction in flight of that kind and id, or nil.
	Find(kind predict.Kind, id string) *predict.Prediction
	// Result returns a prediction in flight or retained, and its record with the input, secrets redacted, or false if
	// there is none. The caller releases it after the last use of the record.
	Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool)
	// Cancel cancels the prediction of that kind and id; false means none is in flight or retained as canceled.
	Cancel(kind predict.Kind, id string) bool
	// RunExample runs the model's example until ctx ends; nil means there is none, or the model is not ready.
	RunExample(ctx context.Context) *health.ExampleRun
	// OpenAPI returns the model's schema document, or false if setup has not ended.
	OpenAPI() ([]byte, bool)
	// LoadOpenAPI is OpenAPI for a prediction: it loads the model, if requests load it.
	LoadOpenAPI() ([]byte, bool)
	// HasTraining reports whether the model has a training interface.
	HasTraining() bool
}

// Prober says how a model or a server is.
type Prober interface {
	// Ready says why no prediction is accepted: not set up, draining, or defunct; nil means they are.
	Ready() error
	// Defunct says why the server cannot recover without an operator; nil means it is not defunct.
	Defunct() error
	// Health returns the health document; ctx bounds the model's health check.
	Health(ctx context.Context) health.Document
}

// Assigner makes predictions.
type Assigner interface {
	// Assign validates a prediction or training, and has it created by the model that has one of its id in flight, or
	// else by the one whose turn it is: registered, with its slot or place in the queue. The error is a refusal of
	// package predict (ErrInFlight, ErrBusy, ErrNotStreaming, ErrNoTraining, *QueueFullError, *NotReadyError,
	// *ValidationError) or memory.ErrFull. The caller must call the prediction's Run or Start, and then Release.
	Assign(req predict.Request) (*predict.Prediction, error)
}

// Route finds who answers a request for a model, before anything is asked of it.
type Route interface {
	// Model returns who answers for the model itself.
	Model() Service
	// Holder returns who has the prediction of that kind and id, in flight or retained; if none has, that of Model.
	Holder(kind predict.Kind, id string) Service
	Assigner
	Prober
}

// ErrNoModel is why a server answers no prediction at its root while SageMaker has loaded no model.
var ErrNoModel = &predict.NotReadyError{
	Reason: "No model is loaded: POST /models with model_name and url loads one",
}
