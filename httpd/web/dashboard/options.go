package dashboard

import (
	"context"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

// Options of a View. Its functions are called by any goroutine.
type Options struct {
	// Model is the model's name, and Versions what the view names beside it.
	Model    string
	Versions map[string]string
	// Docs is the address of the page to try the model, relative to the view's; "" means there is none.
	Docs string
	// TraceURL is the address of a trace, with {trace_id} for its id; "" means ids have no link.
	TraceURL string
	// Content means that inputs and outputs of predictions are shown.
	Content bool
	// Keep is how long the server retains ended predictions, for the view's words; 0 means not at all.
	Keep time.Duration

	// Memory is charged for events until they are sent; nil means there is no limit.
	Memory *memory.Budget

	// Figures and Load are called once a second, from New on.
	Figures func() metrics.Figures
	Load    func() metrics.Load
	// State and Overview are called once a second while a client follows the events.
	State    func() State
	Overview func(n int) predict.Overview
	// Find returns a prediction, which the caller releases, with its record, or false if there is none.
	Find func(kind predict.Kind, id string) (p *predict.Prediction, rec predict.Record, ok bool)
	// Locate notes where a prediction in flight is.
	Locate func(*predict.Summary)
	// Summary returns what is left of a prediction that Find does not find any more.
	Summary func(kind predict.Kind, id string) (predict.Summary, bool)
	// Search returns ended predictions whose id, error or trace has a text, which is in lower case: at most n, the
	// newest first. searched is how many predictions were searched.
	Search func(text string, n int) (found []predict.Summary, searched int)
	// Log is the server's log, which is watched while a client follows the events; nil means it is not shown.
	Log Log
	// Stack says what a prediction in flight does, in names and lines of its Python code.
	Stack func(ctx context.Context, kind predict.Kind, id string) (string, error)
}

// Log is the end of a log.
type Log interface {
	// Watch keeps records from now on, until Unwatch has been called as often.
	Watch()
	Unwatch()
	// Since returns those records after the first n that are kept, and how many there ever were.
	Since(n uint64) (records []string, last uint64)
}

// State is the server at one moment, beside its figures.
type State struct {
	Status     string `json:"status"` // as in /health-check
	ModelError string `json:"model_error,omitempty"`
	Stopping   bool   `json:"stopping,omitempty"`
	Setup      Setup  `json:"setup"`
	// Slots is how many predictions can run at a time, Capacity how many may wait.
	Slots    int      `json:"slots"`
	Capacity int      `json:"capacity"`
	Workers  []Worker `json:"workers"`
	GPUs     []GPU    `json:"gpus,omitempty"`
	Memory   Memory   `json:"memory"`
	Webhooks Webhooks `json:"webhooks"`
	Python   string   `json:"python,omitempty"`
	Models   []Model  `json:"models,omitempty"` // of the server, if it has several
}

// Model is one model of the server.
type Model struct {
	Name    string `json:"name"`
	State   string `json:"state"` // as in GET /models
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	Slots   int    `json:"slots"`
	// Of its webhooks since the start: see Webhooks.
	Pending  int    `json:"pending,omitempty"`
	Retrying int    `json:"retrying,omitempty"`
	Lost     uint64 `json:"lost,omitempty"`
}

// Setup is how the model's latest setup went.
type Setup struct {
	Status  string  `json:"status"` // starting, succeeded or failed
	Started int64   `json:"started,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // that it took, once it has ended
	Logs    string  `json:"logs,omitempty"`    // the end of its logs; all of them if it failed
}

// Worker is one worker process. Times are milliseconds since 1970.
type Worker struct {
	State     string `json:"state"`
	PID       int    `json:"pid,omitempty"`
	Busy      int    `json:"busy"` // slots with a prediction
	BusySince int64  `json:"busy_since,omitempty"`
	Served    int    `json:"served"`
	Restarts  int    `json:"restarts"`
	LastExit  string `json:"last_exit,omitempty"`
	ExitedAt  int64  `json:"exited_at,omitempty"`
	Memory    int64  `json:"memory,omitempty"` // resident bytes
	Device    string `json:"device,omitempty"` // its CUDA_VISIBLE_DEVICES
	Successor string `json:"successor,omitempty"`
	Ranks     []Rank `json:"ranks,omitempty"` // of a worker of several processes
}

// Rank is one process of a group.
type Rank struct {
	PID    int    `json:"pid"`
	Memory int64  `json:"memory,omitempty"` // resident bytes
	Device string `json:"device,omitempty"`
}

// GPU is one GPU.
type GPU struct {
	Name        string  `json:"name"`
	MemoryUsed  int64   `json:"memory_used"`
	Utilization float64 `json:"utilization"` // 0 to 1; negative means unknown
}

// Memory is the server's memory budget, in bytes.
type Memory struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// Webhooks is the state of the deliveries of the model's webhooks.
type Webhooks struct {
	Pending  int    `json:"pending,omitempty"`  // ended predictions whose webhook is not delivered yet
	Retrying int    `json:"retrying,omitempty"` // deliveries that failed and are tried again
	Retried  string `json:"retried,omitempty"`  // the last failure of one that is tried again: the receiver and why
	Lost     string `json:"lost,omitempty"`     // the last failure of one that is not
}

// Milliseconds returns a time as the view's events have it; 0 means none.
func Milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
