package metrics

import (
	"cmp"
	"time"

	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
)

// Options of a Set. Each function may be nil. It is called when the page is written, by any goroutine.
type Options struct {
	// Scope says which metrics the set has. Default: all.
	Scope Scope
	// Version is the server's version.
	Version string
	// Model returns the versions on the model's side; either may be "".
	Model func() (python, cog string)
	// Load returns the server's load.
	Load func() Load
	// Trainings returns how many of the predictions in flight are trainings. The page does not ask.
	Trainings func() int
	// Workers returns the worker processes, in the order of their numbers.
	Workers func() []Worker
	// ExitCauses are the causes of a worker's exit that are always written, even with a count of 0. Default: ExitSetup,
	// ExitCrash and ExitLeft.
	ExitCauses []string
	// DroppedLogs returns how much of the server's log was dropped because its reader was too slow.
	DroppedLogs func() (records, bytes uint64)
	// DroppedTelemetry returns how much of each signal the collector did not accept; nil means none is sent.
	DroppedTelemetry func() map[string]uint64
	// SetsAside means that workers may be set aside, as those of pinion batching.
	SetsAside bool
	// Memory returns the state of the memory budget.
	Memory func() memory.Stats
	// Connections returns the state of the limit of open connections.
	Connections func() connlimit.Stats
	// Jobs returns this server's part in the job queue, or nil.
	Jobs func() *Jobs
	// Mirror returns how the model did as a mirror of another version, or nil if it was none.
	Mirror func() *Mirror
	// GPUs returns the GPUs that the model may use.
	GPUs func() []GPU
	// MaxModel bounds the names that the model may record. Default: 200.
	MaxModel int
}

// Scope is which metrics of a server a set has.
type Scope uint8

// The parts. A server with several models has a set of its own metrics and one for each model; Several joins them.
const (
	ScopeAll Scope = iota
	ScopeServer
	ScopeModel
	ScopeQueue // of a model's job queue, which its versions share
)

type Load struct {
	InFlight int // predictions that have not ended, queued ones included
	Queued   int // queued predictions
	Capacity int // of the queue
	Slots    int // how many predictions can run at a time
}

type Jobs struct {
	Waiting                   uint64 // of all servers
	Running                   int    // here
	Redelivered, Dead, Fenced uint64 // by this server, since its start
}

type Worker struct {
	State string        // one of WorkerStates
	PID   int           // 0 means none
	Setup time.Duration // of the latest finished setup; 0 means none
	Ranks []int         // the processes of a group, by rank; nil for a worker of one process
}

// WorkerStates are the states of a worker. All are written, even with a count of 0.
var WorkerStates = [...]string{"starting", "setup", "ready", "draining", "gone"}

type GPU struct {
	Name        string  // its number or identifier
	MemoryUsed  int64   // bytes, of all processes
	MemoryTotal int64   // bytes; 0 means unknown
	Utilization float64 // 0 to 1; negative means unknown
}

// Set is the metrics of one server. Its methods may be called by any goroutine at any time.
type Set struct {
	o           Options
	requests    table[requestKey, requests]
	calls       table[callKey, requests]
	predictions predictions
	generations table[generationKey, generations]
	batches     batches
	streams     streams
	methods     table[string, methodBatches]
	jobs        jobs
	workers     workers
	webhooks    webhooks
	files       table[transfer, transfers]
	model       model
	setups      [2]*histogram // those that succeeded, and those that failed
	started     time.Time
}

// Started returns when counting began.
func (s *Set) Started() time.Time { return s.started }

func New(o Options) *Set {
	o.MaxModel = cmp.Or(o.MaxModel, 200)
	if len(o.ExitCauses) == 0 {
		o.ExitCauses = []string{ExitSetup, ExitCrash, ExitLeft}
	}
	s := &Set{o: o, started: time.Now()}
	s.predictions.init()
	for i := range s.setups {
		s.setups[i] = s.predictions.queue.bounds.histogram()
	}
	s.batches.init()
	s.jobs.wait = newTimes()
	s.workers.init(o.ExitCauses)
	s.webhooks.init()
	s.initTransfers()
	return s
}
