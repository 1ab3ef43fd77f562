package httpd

import (
	"context"

	"pinion/runtime/connlimit"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Service is what the HTTP layer needs of the server behind it.
type Service interface {
	// Create validates a prediction or training, registers it and claims its slot or place in the queue. The error is a
	// refusal of package predict (ErrInFlight, ErrBusy, ErrNotStreaming, ErrNoTraining, *QueueFullError, *NotReadyError,
	// *ValidationError) or memory.ErrFull. The caller must call the prediction's Run or Start, and then Release.
	Create(req predict.Request) (*predict.Prediction, error)
	// NewAttachments returns an empty store for the files that a request's body carries. The caller closes it, unless
	// Create took it over with the request.
	NewAttachments() request.Attachments
	// Find returns the prediction in flight of that kind and id, or nil.
	Find(kind predict.Kind, id string) *predict.Prediction
	// Result returns a prediction in flight or retained, and its record with the input, secrets redacted; false: there is
	// none. The caller releases it after the last use of the record.
	Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool)
	// Cancel cancels the prediction of that kind and id; false: none is in flight or retained as canceled.
	Cancel(kind predict.Kind, id string) bool
	// Ready says why no prediction is accepted: not set up, draining, or defunct; nil: they are.
	Ready() error

	// Defunct says why the server cannot recover without an operator; nil: it is not defunct.
	Defunct() error
	// Health returns the health document; ctx bounds the model's health check.
	Health(ctx context.Context) Health
	// RunExample runs the model's example until ctx ends; nil: there is none, or the model is not ready.
	RunExample(ctx context.Context) *ExampleRun
	// OpenAPI returns the model's schema document; false: setup has not ended.
	OpenAPI() ([]byte, bool)
	// HasTraining reports whether the model has a training interface.
	HasTraining() bool
}

// Always returns svc at each call, for New: the default model stays the same.
func Always(svc Service) func() Service { return func() Service { return svc } }

// Health is the body of GET /health-check.
type Health struct {
	Status             string            `json:"status"`
	Setup              *Setup            `json:"setup,omitempty"`
	Version            map[string]string `json:"version"`
	UserHealthcheckErr string            `json:"user_healthcheck_error,omitempty"`
	// Example and the members below are additions to Cog's document. Example is set if the request asked for a run.
	Example *ExampleRun    `json:"example,omitempty"`
	Workers []WorkerHealth `json:"workers,omitempty"`
	// Queue is nil if predictions never wait.
	Queue  *Queue  `json:"queue,omitempty"`
	Memory *Memory `json:"memory,omitempty"`
	// Connections are those of all the server's ports.
	Connections *Connections `json:"connections,omitempty"`
	// Preload is nil if workers are not forked from a preload process.
	Preload *Preload `json:"preload,omitempty"`
	// Fleet is nil if there is no job queue.
	Fleet *Fleet `json:"fleet,omitempty"`
	// Models are the statuses of the server's models by name; nil: it has one, or the health is that of a model.
	Models map[string]string `json:"models,omitempty"`
}

// Fleet is this server's part in the model's job queue.
type Fleet struct {
	Connected bool   `json:"connected"`
	Servers   int    `json:"servers"`         // that take jobs, as heard in the last 15 s
	Stored    uint64 `json:"stored"`          // jobs that wait or run, on all servers
	Waiting   uint64 `json:"waiting"`         // of them, those that wait
	Running   int    `json:"running"`         // of them, those that run, as the servers said in the last 15 s
	Error     string `json:"error,omitempty"` // why the queue cannot be used
}

// ExampleRun is the result of a run of the model's example.
type ExampleRun struct {
	Status      string  `json:"status"` // succeeded, failed, canceled, or busy: no slot was free
	Error       string  `json:"error,omitempty"`
	PredictTime float64 `json:"predict_time,omitempty"` // seconds
}

// healthy reports whether the run shows no fault of the model.
func (r *ExampleRun) healthy() bool { return r.Status == "succeeded" || r.Status == "busy" }

// Memory is the state of the memory budget; see docs/explanation/memory.md.
type Memory struct {
	UsedBytes  int64  `json:"used_bytes"`
	LimitBytes int64  `json:"limit_bytes"`
	Evictions  uint64 `json:"evictions"` // ended predictions that were removed to make room
}

// Connections is the state of the limit of open connections.
type Connections struct {
	Open    int    `json:"open"`
	Limit   int    `json:"limit"`
	Evicted uint64 `json:"evicted"` // idle ones that were closed to make room
	Refused uint64 `json:"refused"` // new ones for which there was no room
}

// ConnectionsOf is the state of a limit in the words of the health document.
func ConnectionsOf(s connlimit.Stats) *Connections {
	return &Connections{Open: s.Open, Limit: s.Limit, Evicted: s.Evicted, Refused: s.Refused}
}

// Preload is the preload process from which workers are forked.
type Preload struct {
	State  string `json:"state"` // importing, ready, refused or gone
	PID    int    `json:"pid,omitempty"`
	Reason string `json:"reason,omitempty"` // why it was refused, or how it ended
	Forked int    `json:"forked"`           // workers, ever
}

// Setup is how the model's setup went. Times are RFC 3339.
type Setup struct {
	StartedAt   string `json:"started_at,omitempty"`
	CompletedAt string `json:"completed_at,omitempty"`
	Status      string `json:"status"` // starting, succeeded or failed
	Logs        string `json:"logs"`
}

// WorkerHealth is the state of one worker process.
type WorkerHealth struct {
	PID   int    `json:"pid,omitempty"`
	State string `json:"state"` // starting, setup, ready, draining, gone
	// CUDA is the worker's report about its GPUs.
	CUDA map[string]any `json:"cuda,omitempty"`
	// LastExit says how the previous process ended.
	LastExit string `json:"last_exit,omitempty"`
	// NextStart (RFC 3339) is when the next process is tried after failures.
	NextStart string `json:"next_start,omitempty"`
	Restarts  int    `json:"restarts"`
	// Device is its CUDA_VISIBLE_DEVICES; "": all GPUs.
	Device string `json:"device,omitempty"`
	// Busy is how many of its slots have predictions. BusySince (RFC 3339) is the earliest time at which the oldest began.
	Busy      int    `json:"busy"`
	BusySince string `json:"busy_since,omitempty"`
	// Concurrency is how many predictions it runs at once, if more than one.
	Concurrency int `json:"concurrency,omitempty"`
	// Served is how many predictions the process has answered.
	Served int `json:"served"`
	// MemoryBytes is its resident memory.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Successor is the state of the process that will replace it.
	Successor string `json:"successor,omitempty"`
}

// Queue is how many predictions wait for a slot.
type Queue struct {
	Length   int `json:"length"`
	Capacity int `json:"capacity"`
}
