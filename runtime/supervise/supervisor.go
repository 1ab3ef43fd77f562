package supervise

import (
	"encoding/json"
	"log/slog"
	"os"
	"sync"
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

// Options of a supervisor.
type Options struct {
	Index        int // of this worker, for logs and health
	Exe          string
	Spec         Spec
	Env          []string
	Device       string        // the GPUs that Env gives the worker, for health; "": all
	Restart      Restart       // default OnCrash
	SetupTimeout time.Duration // 0: none
	// SetupRetries is how often a model that was never set up, by any worker, is tried again.
	SetupRetries int
	// HangTimeout is how long a worker may leave a question on its control channel unanswered. A thread of
	// its own answers, whatever Python is doing. 0: for ever.
	HangTimeout time.Duration
	// MaxAnswers and MaxMemory (bytes) are what a worker is renewed after, or above; 0: never.
	MaxAnswers int
	MaxMemory  int64
	// Renewal says in which order a worker and its successor go and come.
	Renewal Renewal
	// StopPatience is how long a worker that is to leave may take for its atexit handlers and threads,
	// once nothing is outstanding. Default 10 s.
	StopPatience time.Duration
	// KillPatience is how long a worker that was killed may take to end before it is given up: it is frozen, or waits in
	// a driver. Default 3 s.
	KillPatience time.Duration
	// Fleet is what this worker has in common with others; nil: it is the only one.
	Fleet *Fleet
	// Linger: where no worker is to be started any more, Run waits for Renew, for another worker of the fleet
	// that can be set up, or for the end.
	Linger bool
	// TellsFailure: whoever made the supervisor tells why no worker of the fleet could ever be set up. Then the log does not.
	TellsFailure bool
	// Batch is what an operator has to say about the model's batches.
	Batch  batch.Override
	Pool   *slot.Pool
	Logger *slog.Logger
	// Template, where it is not nil, is what workers are forked from while it can. The first waits for it.
	Template *Template
	// Prepare is called before each start, to see to what the worker needs; an error is a failed start.
	Prepare func(*Spec) error
	// OnLoaded is called when a worker knows what its model is, before setup; of one that is to take another's
	// place, when it does.
	OnLoaded func(Loaded)
	// OnStart is called when a process was started, and OnExit once for each of these, when its exit is judged;
	// nil: nobody counts them.
	OnStart func()
	OnExit  func(Verdict)
	// RequestOf is the X-Request-Id of a prediction, "" where it has none; it is asked for each line of the model's log, with locks
	// held: it must not block. nil: no line names any.
	RequestOf func(prediction string) string
	// OnChange is called after each change of Status, by one goroutine or another.
	OnChange func()
}

// Loaded is what a worker says of its model.
type Loaded struct {
	Cog   string `json:"cog"`
	Slots int    `json:"slots"`
	Async bool   `json:"async"`
	// Streaming: the predict function is @streaming. Train: there is a train function; Predict: a predict
	// function beside it. Healthcheck: the model has a check of its own. Excused: its types are faulty, and the document
	// that it brings stands in for them.
	Streaming   bool            `json:"streaming"`
	Train       bool            `json:"train"`
	Predict     bool            `json:"predict"`
	Healthcheck bool            `json:"healthcheck"`
	Excused     bool            `json:"excused"`
	Batch       *Batching       `json:"batch"` // nil: each prediction runs by itself
	Schema      json.RawMessage `json:"schema"`
	Example     json.RawMessage `json:"example"` // inputs, as a client sends them; nil: the model gives none
	Python      string          `json:"-"`
}

// SetupStatus is how the newest setup went.
type SetupStatus struct {
	Started   time.Time
	Completed time.Time // zero while it runs
	Failed    bool
	Logs      string
	Problem   *Problem // why it failed, where the worker said so
}

// Status is what health says of one worker.
type Status struct {
	State    State
	PID      int
	Setup    SetupStatus
	Python   string
	CUDA     map[string]any
	LastExit string // in words; "" while none has ended that was not asked to
	Restarts int    // processes after the first
	// Successor is the state of the process that is to take this one's place, where there is one.
	Successor *State
	// Defunct: this worker has ended and none will be started in its place.
	Defunct bool
	// SetupFailed: it is defunct because its setup failed, which never worked.
	SetupFailed bool
}

// Supervisor keeps one worker alive.
type Supervisor struct {
	o      Options
	stop   chan struct{} // closed: drain and end
	kill   chan struct{} // closed: end now
	done   chan struct{} // closed when the last process is gone
	wishes chan wish     // a token: renew the worker
	lives  sync.WaitGroup

	stopOnce, killOnce sync.Once
	after              func(time.Duration) <-chan time.Time // time.After, but in tests
	pulse              time.Duration                        // between two looks at a worker's memory
	mine               bool                                 // the fleet's turn is ours; of Run's goroutine

	checks checks

	mu      sync.Mutex
	status  Status      // of this worker's place; what is of a process stands in the processes' own
	current *liveWorker // the process whose status counts
	heir    *liveWorker // the one that is to follow it
	next    Spec        // of the next process
	nextEnv []string
}

// New makes a supervisor; Run does its work.
func New(o Options) *Supervisor {
	if o.Restart == "" {
		o.Restart = OnCrash
	}
	if o.StopPatience <= 0 {
		o.StopPatience = 10 * time.Second
	}
	if o.KillPatience <= 0 {
		o.KillPatience = killPatience
	}
	if o.Fleet == nil {
		o.Fleet = NewFleet(nil)
	}
	return &Supervisor{
		o: o, stop: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
		wishes: make(chan wish, 1), after: time.After, pulse: pulseEvery, next: o.Spec, nextEnv: o.Env,
	}
}

// Status is a copy of the current status.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if l := s.current; l != nil {
		st.State, st.PID, st.Setup, st.Python, st.CUDA = l.status.State, l.status.PID, l.status.Setup, l.status.Python, l.status.CUDA
	}
	if s.heir != nil {
		state := s.heir.status.State
		st.Successor = &state
	}
	return st
}

// Stop lets the worker finish what it has, starts no other, and returns at once.
func (s *Supervisor) Stop() { s.stopOnce.Do(func() { close(s.stop) }) }

// Kill ends the worker now, and returns at once.
func (s *Supervisor) Kill() { s.killOnce.Do(func() { close(s.kill) }) }

// Done is closed when the worker is gone and none will follow.
func (s *Supervisor) Done() <-chan struct{} { return s.done }

// change changes what is of the worker's place.
func (s *Supervisor) change(f func(*Status)) {
	s.mu.Lock()
	f(&s.status)
	s.mu.Unlock()
	s.o.OnChange()
}

// Run starts workers, one after another, until Stop or Kill, or until no other is to be started.
func (s *Supervisor) Run() {
	defer close(s.done)
	defer s.lives.Wait()
	defer s.pass()
	var back backoff
	if !s.o.Template.await(s.stop, s.kill) {
		return
	}
	worked, retries := false, s.o.SetupRetries // worked: a process of this place was ready
	for {
		ended := s.reign()
		worked = worked || ended.worked
		if ended.stopped {
			return
		}
		var delay time.Duration
		if !ended.retired {
			var again bool
			delay, again = back.died(time.Now(), ended.served)
			never := ended.setup && !worked && !s.o.Fleet.proven()
			if never && again && retries > 0 && s.o.Restart != Never {
				retries--
				s.o.Logger.Warn("setup is tried again", "worker", s.o.Index, "cause", ended.cause, "tries_left", retries)
			} else if never || s.o.Restart == Never || !again {
				if !s.linger(ended.cause, never) {
					return
				}
				back, delay, retries = backoff{}, 0, s.o.SetupRetries
			}
		}
		if delay > 0 {
			s.o.Logger.Warn("worker restarts after a pause", "worker", s.o.Index, "pause", delay.String())
		}
		select {
		case <-s.after(delay):
		case <-s.stop:
			return
		case <-s.kill:
			return
		}
		s.change(func(st *Status) { st.Restarts++ })
	}
}

// linger is where no worker is to be started in place of the one that ended; true: one is after all.
func (s *Supervisor) linger(cause string, setupFailed bool) bool {
	if !setupFailed || !s.quiet() {
		s.o.Logger.Error("no worker will be started in its place", "worker", s.o.Index, "cause", cause)
	}
	s.change(func(st *Status) { st.Defunct, st.SetupFailed = true, setupFailed })
	if !s.o.Linger {
		return false
	}
	var proven <-chan struct{} // by another worker: then what failed here was no fault of the model's
	if setupFailed && s.o.Restart != Never {
		proven = s.o.Fleet.provenBy
	}
	select {
	case <-s.stop:
		return false
	case <-s.kill:
		return false
	case <-proven:
		s.o.Logger.Info("setup is tried again: another worker's went well", "worker", s.o.Index, "cause", cause)
	case w := <-s.wishes:
		s.o.Logger.Info("a worker is started all the same", "worker", s.o.Index, "reason", w.why)
	}
	s.change(func(st *Status) { st.Defunct, st.SetupFailed = false, false })
	return true
}

// quiet tells whether a failed setup is left to others to tell of.
func (s *Supervisor) quiet() bool { return s.o.TellsFailure && !s.o.Fleet.proven() }

// ending is what became of one process.
type ending struct {
	cause   string
	stopped bool // it was asked to end, with the server
	retired bool // it was asked to end, for another to take its place
	served  bool // it had a success
	setup   bool // it ended before it was ready
	worked  bool // it was ready
}

// launch starts a process. Its ending comes out of its channel ended, always.
func (s *Supervisor) launch(heir bool) *liveWorker {
	began := time.Now()
	l := &liveWorker{
		Supervisor: s, during: duringStart, heir: heir, oom: newOOMWatch(s.o.Fleet.memory),
		retiring: make(chan farewell, 2), readied: make(chan struct{}), ended: make(chan ending, 1),
	}
	l.status.Setup = SetupStatus{Started: began}
	select {
	case <-s.wishes: // it is being fulfilled
	default:
	}
	s.mu.Lock()
	spec, env := s.next, s.nextEnv
	if heir {
		s.heir = l
	} else {
		s.current = l
	}
	s.mu.Unlock()
	var err error
	if s.o.Prepare != nil {
		err = s.o.Prepare(&spec)
	}
	if err == nil {
		spec.GPULost = s.o.Fleet.gpu.words()
		l.process, err = start(s.o.Exe, spec, env, s.o.Fleet.orphans, s.o.Template, s.note)
	}
	if err != nil {
		s.o.Logger.Error("worker not started", "worker", s.o.Index, "error", err)
		l.change(func(st *Status) {
			st.State = Gone
			st.Setup.Failed, st.Setup.Completed, st.Setup.Logs = true, time.Now(), err.Error()
		})
		s.change(func(st *Status) { st.LastExit = err.Error() })
		l.ended <- ending{cause: err.Error(), setup: true}
		return l
	}
	l.change(func(st *Status) { st.PID = l.process.pid })
	if s.o.OnStart != nil {
		s.o.OnStart()
	}
	s.o.Logger.Debug("worker started", "worker", s.o.Index, "pid", l.process.pid)
	if s.o.SetupTimeout > 0 {
		l.alarm = time.After(s.o.SetupTimeout)
	}
	s.lives.Go(func() {
		l.run()
		l.ended <- l.bury()
	})
	return l
}

// note writes a line of the model's to the server's log.
func (s *Supervisor) note(stream source, prediction string, line []byte) {
	attrs := []any{"worker", s.o.Index, "stream", sourceNames[stream]}
	if prediction != "" {
		attrs = append(attrs, "prediction_id", prediction)
		if s.o.RequestOf != nil {
			if request := s.o.RequestOf(prediction); request != "" {
				attrs = append(attrs, "request_id", request)
			}
		}
	}
	s.o.Logger.Info(string(line), attrs...)
}

// WorkerEnv is the environment of workers: this process's, then extra (NAME=value), in order.
func WorkerEnv(extra []string) []string { return append(os.Environ(), extra...) }

// message is a frame from the control channel, kept, or why there will be none any more.
type message struct {
	kind ipc.Kind
	id   uint64
	body []byte
	err  error
}
