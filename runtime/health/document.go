package health

import (
	"time"

	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
)

// Status says what a server, or one of its models, can do.
type Status string

const (
	Starting  Status = "STARTING"
	Ready     Status = "READY"
	Busy      Status = "BUSY"         // ready, and all slots have predictions
	Failed    Status = "SETUP_FAILED" // its setup has
	Defunct   Status = "DEFUNCT"      // the workers have died, and none is started any more
	Unhealthy Status = "UNHEALTHY"
	Unloaded  Status = "UNLOADED" // one of several models without processes, or a server without a model
)

// Document is the health of a server, or of one of its models, at one moment.
type Document struct {
	Status Status `json:"status"`
	// Setup is the latest setup of the first worker.
	Setup   *Setup            `json:"setup,omitempty"`
	Version map[string]string `json:"version"`
	// ModelError is the error of the model's health check, or "".
	ModelError string `json:"user_healthcheck_error,omitempty"`
	// Example and the members below are additions to Cog's document. Example is set if the request asked for a run.
	Example *ExampleRun `json:"example,omitempty"`
	Workers []Worker    `json:"workers,omitempty"`
	// Queue is nil if predictions never wait.
	Queue  *Queue        `json:"queue,omitempty"`
	Memory *memory.Stats `json:"memory,omitempty"`
	// Connections are those of all the server's ports.
	Connections *connlimit.Stats `json:"connections,omitempty"`
	// Weights is set while weights are fetched.
	Weights *Weights `json:"weights,omitempty"`
	// Preload is nil if workers are not forked from a preload process.
	Preload *Preload `json:"preload,omitempty"`
	// Fleet is nil if there is no job queue.
	Fleet *Fleet `json:"fleet,omitempty"`
	// Models are the statuses of the server's models by name; nil if it has one, or the health is that of a model.
	Models map[string]Status `json:"models,omitempty"`
}

// Setup describes the model's setup.
type Setup struct {
	StartedAt   Time   `json:"started_at,omitzero"`
	CompletedAt Time   `json:"completed_at,omitzero"`
	Status      string `json:"status"` // starting, succeeded or failed
	Logs        string `json:"logs"`

	// These are set while it runs: its seconds until now, the last line of its logs, and the percent of a progress bar in
	// that line.
	Seconds  float64 `json:"seconds,omitempty"`
	LastLine string  `json:"last_line,omitempty"`
	Percent  *int    `json:"percent,omitempty"`
}

// The values of Setup.Status.
const (
	SetupStarting  = "starting"
	SetupSucceeded = "succeeded"
	SetupFailed    = "failed"
)

// ExampleRun is the result of a run of the model's example.
type ExampleRun struct {
	Status      string  `json:"status"` // succeeded, failed, canceled, or busy if no slot was free
	Error       string  `json:"error,omitempty"`
	PredictTime float64 `json:"predict_time,omitempty"` // seconds
}

// StatusBusy is the status of a run that found no free slot. It says nothing about the model.
const StatusBusy = "busy"

// Healthy reports whether the run shows no fault of the model.
func (r *ExampleRun) Healthy() bool { return r.Status == "succeeded" || r.Status == StatusBusy }

// Worker is the state of one worker process.
type Worker struct {
	PID   int    `json:"pid,omitempty"`
	State string `json:"state"` // starting, setup, ready, draining, gone
	// CUDA is the worker's report about its GPUs.
	CUDA map[string]any `json:"cuda,omitempty"`
	// LastExit says how the last process ended that was not asked to.
	LastExit string `json:"last_exit,omitempty"`
	ExitedAt Time   `json:"-"`
	// NextStart is when the next process is tried after failures.
	NextStart Time `json:"next_start,omitzero"`
	Restarts  int  `json:"restarts"`
	// Device is its CUDA_VISIBLE_DEVICES; "" means all GPUs.
	Device string `json:"device,omitempty"`
	// Busy is how many of its slots have predictions. BusySince is the earliest time at which the oldest began.
	Busy      int  `json:"busy"`
	BusySince Time `json:"busy_since,omitzero"`
	// Concurrency is how many predictions it runs at once, if more than one.
	Concurrency int `json:"concurrency,omitempty"`
	// Served is how many predictions the process has answered.
	Served int `json:"served"`
	// MemoryBytes is its resident memory, or, if it was forked after the setup, its private pages; 0 if unknown.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Successor is the state of the process that will replace it.
	Successor string `json:"successor,omitempty"`
	// Ranks are the processes of a worker that has several.
	Ranks []Rank `json:"ranks,omitempty"`
}

// Rank is one process of a worker of several.
type Rank struct {
	Rank int `json:"rank"`
	PID  int `json:"pid"`
	// MemoryBytes is its resident memory; 0 if unknown.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Device is the GPU with its LOCAL_RANK, where the worker has its own; else "".
	Device string `json:"device,omitempty"`
}

// Queue is how many predictions wait for a slot.
type Queue struct {
	Length   int `json:"length"`
	Capacity int `json:"capacity"`
}

// Weights is how far the fetch of a model's weights is.
type Weights struct {
	DoneBytes  int64   `json:"done_bytes"`
	TotalBytes int64   `json:"total_bytes"` // grows until all sources were asked, and as files of unknown size come
	Files      int     `json:"files"`       // that are there
	TotalFiles int     `json:"total_files"`
	Rate       float64 `json:"rate"` // bytes a second, lately
}

// Preload is the preload process from which workers are forked.
type Preload struct {
	State  string `json:"state"` // importing, ready, refused or gone
	PID    int    `json:"pid,omitempty"`
	Setup  bool   `json:"setup,omitempty"`  // it has run the model's setup
	Reason string `json:"reason,omitempty"` // why it, or its setup, was refused, or how it ended
	Forked int    `json:"forked"`           // workers since its start
}

// Fleet is this server's part in the model's job queue.
type Fleet struct {
	Connected bool   `json:"connected"`
	Servers   int    `json:"servers"`         // that take jobs, by reports of the last 15 s
	Stored    uint64 `json:"stored"`          // jobs that wait or run, on all servers; 0 if NATS does not report it
	Waiting   uint64 `json:"waiting"`         // the part of them that waits
	Running   int    `json:"running"`         // the part of them that runs, by reports of the last 15 s
	Error     string `json:"error,omitempty"` // why the queue cannot be used
}

// Time is written to JSON as RFC 3339 in UTC, with microseconds. The zone is +00:00, as in Cog's document, because
// Python parses a Z only since 3.11.
type Time struct{ time.Time }

func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000000-07:00"`)), nil
}
