package httpd

import (
	"context"

	"pinion/runtime/predict"
)

// Service is what the HTTP layer needs of the server behind it.
type Service interface {
	// Create takes a prediction or training in: validates it, registers it, and claims its place. It
	// returns one of the refusals of package predict (ErrInFlight, ErrBusy, ErrNotStreaming,
	// ErrNoTraining, *QueueFullError, *NotReadyError, *ValidationError), or a prediction of which the
	// caller must call Wait, where its Mode is Sync, or else hand it to Start; and, in either case, Release.
	Create(req predict.Request) (*predict.Prediction, error)
	// Inbox is a place for the files that come in a request's own body. Whoever asked closes it, unless Create has
	// taken it over with the request.
	Inbox() predict.Inbox
	// Start carries a prediction out in the background, and holds it for itself (Prediction.Hold) until
	// its end. Where the prediction is refused after all, it ends as failed. Start does not block.
	Start(p *predict.Prediction)
	// Find is the prediction in flight of that kind and id, or nil.
	Find(kind predict.Kind, id string) *predict.Prediction
	// Result is a prediction that is in flight or has ended lately, with its state, its input with it, secrets hidden;
	// false: there is none. The caller releases it when it does not need the record any more.
	Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool)
	// Cancel asks for the end of the prediction of that kind and id; false: none is in flight or remembered as
	// canceled.
	Cancel(kind predict.Kind, id string) bool
	// Ready is nil where predictions are taken, or says why not: not set up, draining, or defunct.
	Ready() error

	// Defunct is nil, or why no prediction will ever be taken again unless somebody sees to it.
	Defunct() error
	// Health is the health document's content; ctx bounds the model's own check.
	Health(ctx context.Context) Health
	// RunExample carries out the model's own example, until ctx ends; nil: it gives none, or is not ready.
	RunExample(ctx context.Context) *ExampleRun
	// OpenAPI is the model's schema document, or false before setup has ended.
	OpenAPI() ([]byte, bool)
	// Shutdown begins a graceful shutdown, without waiting for its end.
	Shutdown()
	// HasTraining tells whether the model has a training interface.
	HasTraining() bool
}

// Health is the body of GET /health-check.
type Health struct {
	Status             string            `json:"status"`
	Setup              *Setup            `json:"setup,omitempty"`
	Version            map[string]string `json:"version"`
	UserHealthcheckErr string            `json:"user_healthcheck_error,omitempty"`
	// Example is an addition to Cog's document, where a run of the model's example was asked for.
	Example *ExampleRun `json:"example,omitempty"`
	// Workers is an addition as well: one entry a worker process.
	Workers []WorkerHealth `json:"workers,omitempty"`
	// Queue is an addition as well; nil: predictions never wait.
	Queue *Queue `json:"queue,omitempty"`
	// Memory is an addition as well: what the server's memory budget has to do.
	Memory *Memory `json:"memory,omitempty"`
	// Preload is an addition as well; nil: workers are not forked from a template.
	Preload *Preload `json:"preload,omitempty"`
}

// ExampleRun is how a run of the model's own example ended.
type ExampleRun struct {
	Status      string  `json:"status"` // succeeded, failed, canceled, or busy: no slot was free
	Error       string  `json:"error,omitempty"`
	PredictTime float64 `json:"predict_time,omitempty"` // seconds
}

// healthy tells whether the run shows no fault of the model.
func (r *ExampleRun) healthy() bool { return r.Status == "succeeded" || r.Status == "busy" }

// Memory is the state of the budget for what the server holds for its clients; see docs/memory.md.
type Memory struct {
	UsedBytes  int64  `json:"used_bytes"`
	LimitBytes int64  `json:"limit_bytes"`
	Evictions  uint64 `json:"evictions"` // ended predictions that were removed to make room
}

// Preload is the template from which workers are forked.
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

// WorkerHealth is one worker process as an operator sees it.
type WorkerHealth struct {
	PID   int    `json:"pid,omitempty"`
	State string `json:"state"` // starting, setup, ready, draining, gone
	// CUDA is the driver's report, a JSON object as the worker made it.
	CUDA map[string]any `json:"cuda,omitempty"`
	// LastExit says in words how the process before this one ended.
	LastExit string `json:"last_exit,omitempty"`
	Restarts int    `json:"restarts"`
	// Device is the GPUs that it was given, as CUDA_VISIBLE_DEVICES has them; "": all.
	Device string `json:"device,omitempty"`
	// Busy is how many of its slots have predictions, and BusySince (RFC 3339) when the oldest of them began at the
	// earliest.
	Busy      int    `json:"busy"`
	BusySince string `json:"busy_since,omitempty"`
	// Served is how many predictions this process has answered.
	Served int `json:"served"`
	// MemoryBytes is its resident memory.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Successor is the state of the process that is to take its place.
	Successor string `json:"successor,omitempty"`
}

// Queue is how many predictions wait that no worker has room for.
type Queue struct {
	Length   int `json:"length"`
	Capacity int `json:"capacity"`
}
