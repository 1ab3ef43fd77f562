package supervise

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bytedance/sonic"

	"pinion/ipc"
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
	Restart      Restart       // default OnCrash
	SetupTimeout time.Duration // 0: none
	// StopPatience is how long a worker that is to leave may take for its atexit handlers and threads,
	// once nothing is outstanding. Default 10 s.
	StopPatience time.Duration
	Pool         *slot.Pool
	Logger       *slog.Logger
	// OnLoaded is called when a worker knows what its model is, before setup.
	OnLoaded func(Loaded)
	// OnChange is called after each change of Status, from the supervisor's goroutine.
	OnChange func()
}

// Loaded is what a worker says of its model.
type Loaded struct {
	Cog    string                 `json:"cog"`
	Slots  int                    `json:"slots"`
	Async  bool                   `json:"async"`
	Schema sonic.NoCopyRawMessage `json:"schema"`
	Python string                 `json:"-"`
}

// SetupStatus is how the newest setup went.
type SetupStatus struct {
	Started   time.Time
	Completed time.Time // zero while it runs
	Failed    bool
	Logs      string
}

// Status is what health says of one worker.
type Status struct {
	State    State
	PID      int
	Setup    SetupStatus
	Python   string
	CUDA     map[string]any
	LastExit string // in words; "" while none has ended
	Restarts int
	// Defunct: this worker has ended and none will be started in its place.
	Defunct bool
	// SetupFailed: it is defunct because its setup failed, which never worked.
	SetupFailed bool
}

// Supervisor keeps one worker alive.
type Supervisor struct {
	o    Options
	stop chan struct{} // closed: drain and end
	kill chan struct{} // closed: end now
	done chan struct{} // closed when the last process is gone

	stopOnce, killOnce sync.Once
	after              func(time.Duration) <-chan time.Time // time.After, but in tests

	mu     sync.Mutex
	status Status
}

// New makes a supervisor; Run does its work.
func New(o Options) *Supervisor {
	if o.Restart == "" {
		o.Restart = OnCrash
	}
	if o.StopPatience <= 0 {
		o.StopPatience = 10 * time.Second
	}
	return &Supervisor{o: o, stop: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}), after: time.After}
}

// Status is a copy of the current status.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Stop lets the worker finish what it has, starts no other, and returns at once.
func (s *Supervisor) Stop() { s.stopOnce.Do(func() { close(s.stop) }) }

// Kill ends the worker now, and returns at once.
func (s *Supervisor) Kill() { s.killOnce.Do(func() { close(s.kill) }) }

// Done is closed when the worker is gone and none will follow.
func (s *Supervisor) Done() <-chan struct{} { return s.done }

func (s *Supervisor) change(f func(*Status)) {
	s.mu.Lock()
	f(&s.status)
	s.mu.Unlock()
	s.o.OnChange()
}

// move takes the worker to a state; a move that the table does not have is a defect, and is logged.
func (s *Supervisor) move(to State) {
	s.change(func(st *Status) {
		if !st.State.canMove(to) {
			s.o.Logger.Error("illegal worker state change", "worker", s.o.Index, "from", st.State, "to", to)
		}
		st.State = to
	})
}

// Run starts workers, one after another, until Stop or Kill, or until no other is to be started.
func (s *Supervisor) Run() {
	defer close(s.done)
	var back backoff
	for {
		ended := s.life()
		if ended.stopped {
			return
		}
		delay, again := back.died(time.Now(), ended.served)
		firstSetup := ended.setup && s.Status().Restarts == 0
		if firstSetup || s.o.Restart == Never || !again {
			s.o.Logger.Error("no worker will be started in its place", "worker", s.o.Index, "cause", ended.cause)
			s.change(func(st *Status) { st.Defunct, st.SetupFailed = true, firstSetup })
			return
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
		s.change(func(st *Status) {
			st.Restarts++
			st.State = Starting // of the next process
		})
	}
}

// ending is what became of one process.
type ending struct {
	cause   string
	stopped bool // it was asked to end
	served  bool // it had a success
	setup   bool // it ended before it was ready
}

// life is one process from start to end.
func (s *Supervisor) life() ending {
	began := time.Now()
	s.change(func(st *Status) { st.Setup = SetupStatus{Started: began} })
	p, err := start(s.o.Exe, s.o.Spec, s.o.Env, s.note)
	if err != nil {
		s.o.Logger.Error("worker not started", "worker", s.o.Index, "error", err)
		s.change(func(st *Status) {
			st.State = Gone
			st.Setup.Failed, st.Setup.Completed, st.Setup.Logs = true, time.Now(), err.Error()
			st.LastExit = err.Error()
		})
		return ending{cause: err.Error(), setup: true}
	}
	s.change(func(st *Status) { st.PID = p.pid })
	s.o.Logger.Debug("worker started", "worker", s.o.Index, "pid", p.pid)
	l := &liveWorker{Supervisor: s, process: p, during: duringStart}
	if s.o.SetupTimeout > 0 {
		l.alarm = time.After(s.o.SetupTimeout)
	}
	l.run()
	return l.bury()
}

// note writes a line of the model's to the server's log.
func (s *Supervisor) note(stream source, prediction string, line []byte) {
	attrs := []any{"worker", s.o.Index, "stream", sourceNames[stream]}
	if prediction != "" {
		attrs = append(attrs, "prediction_id", prediction)
	}
	s.o.Logger.Info(string(line), attrs...)
}

// WorkerEnv is the environment of workers: this process's, then extra (NAME=value), in order.
func WorkerEnv(extra []string) []string { return append(os.Environ(), extra...) }

// message is a frame from the control channel, kept, or why there will be none any more.
type message struct {
	kind ipc.Kind
	body []byte
	err  error
}
