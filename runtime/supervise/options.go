package supervise

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/slot"
)

// Restart is the policy for workers that die.
type Restart string

const (
	OnCrash Restart = "on-crash" // start another, with a back-off
	Never   Restart = "never"    // Cog's rule
)

// Renewal is the order in which a worker and its successor leave and start.
type Renewal string

const (
	// StartFirst means that the successor is set up beside the old worker, which leaves once it is ready.
	StartFirst Renewal = "start-first"
	// StopFirst means that the old worker leaves first, for machines without memory for both.
	StopFirst Renewal = "stop-first"
)

type Options struct {
	Index  int // of this worker, for logs and health
	Exe    string
	Spec   ipc.WorkerConfig
	Env    []string
	Device string // the GPUs that Env gives the worker, for health; "" means all
	// CheckRanks returns why a worker cannot be as many processes as the model's @cog.ranks says, or nil; it may be nil.
	CheckRanks func(ranks int) error
	Batch      batch.Override // the operator's settings for the model's batches
	Policy     Policy
	Timeouts   Timeouts
	Hooks      Hooks
	Pool       *slot.Pool
	Logger     *slog.Logger
	// Fleet is the state shared with other workers; nil means that this is the only one.
	Fleet *Fleet
	// Preloader, if not nil, forks the workers while it can. The first worker waits for its import.
	Preloader *Preloader
}

// Policy says when a worker is replaced.
type Policy struct {
	Restart Restart // of workers that die; default OnCrash
	Renewal Renewal // the order in which a worker and its successor leave and start; default StartFirst
	// SetupRetries is how often the setup is tried again before any worker of the fleet was ready.
	SetupRetries int
	// A worker is renewed after MaxRequests answers, or when it has more than MaxMemory bytes; 0 means never.
	MaxRequests int
	MaxMemory   int64
	// Linger means that when no worker is to be started any more, Run waits for Renew, for a successful setup of another
	// worker of the fleet, or for the end.
	Linger bool
	// HideSetupFailure means that the caller reports the failed setup of a model that was never ready, so the log does
	// not.
	HideSetupFailure bool
}

// Timeouts are limits in time; 0 means the default, or no limit if there is none.
type Timeouts struct {
	Setup time.Duration
	// SetupFrom, if not nil, returns a channel that is closed when the time of the setup begins: its weights are there.
	SetupFrom func() <-chan struct{}
	Hang      time.Duration // until a ping must be answered; a thread of the worker's answers without Python
	// Stop is how long a worker without predictions may take for its atexit handlers and threads. Default 10 s.
	Stop time.Duration
	// Kill is how long a killed process may take to end before it is given up. Default 3 s.
	Kill time.Duration
}

// Hooks are called by a supervisor; all but OnLoaded and OnChange may be nil.
type Hooks struct {
	// Prepare is called before each start, to provide what the worker needs; an error makes the start fail.
	Prepare func(*ipc.WorkerConfig) error
	// OnLoaded is called when a worker has loaded the model, before its setup; for a successor, when it takes over.
	OnLoaded func(ipc.Loaded)
	OnStart  func()          // a process was started
	OnExit   func(ExitCause) // a process that was started has ended
	// OnSetup is called when a process's setup has ended, before its first prediction.
	OnSetup func(SetupStatus)
	// OnMethodBatches receives the batches of methods that the worker reports.
	OnMethodBatches func(ipc.MethodBatches)
	// RequestOf returns the X-Request-Id of a prediction, or "". It is called for each line of the model's log with locks
	// held, so it must not block.
	RequestOf func(prediction string) string
	OnChange  func() // Status has changed; any goroutine may call it
}

func (o Options) withDefaults() Options {
	o.Policy.Restart = cmp.Or(o.Policy.Restart, OnCrash)
	o.Timeouts.Stop = cmp.Or(o.Timeouts.Stop, 10*time.Second)
	o.Timeouts.Kill = cmp.Or(o.Timeouts.Kill, killTimeout)
	if o.Fleet == nil {
		o.Fleet = NewFleet(nil)
	}
	if o.Hooks.Prepare == nil {
		o.Hooks.Prepare = func(*ipc.WorkerConfig) error { return nil }
	}
	if o.Hooks.OnStart == nil {
		o.Hooks.OnStart = func() {}
	}
	if o.Hooks.OnExit == nil {
		o.Hooks.OnExit = func(ExitCause) {}
	}
	if o.Hooks.OnSetup == nil {
		o.Hooks.OnSetup = func(SetupStatus) {}
	}
	if o.Hooks.OnMethodBatches == nil {
		o.Hooks.OnMethodBatches = func(ipc.MethodBatches) {}
	}
	if o.Hooks.RequestOf == nil {
		o.Hooks.RequestOf = func(string) string { return "" }
	}
	return o
}

// WorkerEnv returns the environment of workers: this process's, then extra (NAME=value), in order.
func WorkerEnv(extra []string) []string { return append(os.Environ(), extra...) }
