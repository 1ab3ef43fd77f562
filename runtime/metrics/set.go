package metrics

import "time"

// Options of a Set. Each function may be nil, and is called whenever the page is written, by any goroutine.
type Options struct {
	// Version is the server's.
	Version string
	// Model is what is known of the model's side; either may be "".
	Model func() (python, cog string)
	// Load is how much of the server is taken.
	Load func() Load
	// Workers are the worker processes, in the order of their numbers.
	Workers func() []Worker
	// ExitCauses are the causes of a worker's exit that are written even where none has ended so. Default: ExitSetup,
	// ExitCrash and ExitLeft.
	ExitCauses []string
	// DroppedLogs is how much of the server's log was dropped, for nobody took it.
	DroppedLogs func() (records, bytes uint64)
	// SetsAside: workers may be set aside, as those of pinion batching.
	SetsAside bool
	// Memory is what the memory budget has to do.
	Memory func() Memory
	// GPUs are those that the model may use.
	GPUs func() []GPU
	// MaxModel bounds the names that the model may record. Default: 200.
	MaxModel int
}

// Load is how much of the server is taken.
type Load struct {
	InFlight int // predictions taken in and not ended, those that wait included
	Queued   int // those that wait
	Capacity int // how many may wait
	Slots    int // how many can be carried out at once
}

// Memory is the state of the memory budget.
type Memory struct {
	Used, Limit int64  // bytes
	Evictions   uint64 // ended predictions that were removed to make room
	Refusals    uint64 // bodies and predictions for which there was none
}

// Worker is one worker process.
type Worker struct {
	State string        // one of WorkerStates
	PID   int           // 0: there is none
	Setup time.Duration // of the newest setup that has ended; 0: none has
}

// WorkerStates are the states of a worker, which are written even where none is in them.
var WorkerStates = [...]string{"starting", "setup", "ready", "draining", "gone"}

// GPU is what a GPU has to do.
type GPU struct {
	Name        string  // its number or identifier
	MemoryUsed  int64   // bytes, of all processes
	Utilization float64 // 0 to 1; negative: the GPU does not tell
}

// Set is the metrics of one server. Its methods may be called by any goroutine at any time.
type Set struct {
	o           Options
	requests    table[requestKey, requests]
	predictions predictions
	batches     batches
	workers     workers
	webhooks    table[delivery, counter]
	files       table[transfer, transfers]
	model       model
}

// New makes a set in which nothing has happened.
func New(o Options) *Set {
	if o.MaxModel <= 0 {
		o.MaxModel = 200
	}
	if len(o.ExitCauses) == 0 {
		o.ExitCauses = []string{ExitSetup, ExitCrash, ExitLeft}
	}
	s := &Set{o: o}
	s.predictions.init()
	s.batches.init()
	s.workers.init(o.ExitCauses)
	s.foreseeDeliveries()
	s.foreseeTransfers()
	return s
}
