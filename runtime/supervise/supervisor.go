package supervise

import (
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/logtext"
)

// Supervisor keeps one worker alive: it starts processes, one after another, until Stop or Kill.
type Supervisor struct {
	o        Options
	stop     latch        // closed: drain and end
	kill     latch        // closed: end now
	done     latch        // closed when the last process has ended
	renewals chan renewal // holds one request
	running  sync.WaitGroup
	turn     bool // it holds the fleet's turn; used by Run's goroutine
	checks   checks

	// Tests replace these.
	after          func(time.Duration) <-chan time.Time
	memoryInterval time.Duration // between two looks at a worker's memory

	mu        sync.Mutex
	status    Status  // except for its ProcessStatus, which each worker has
	current   *worker // the one whose status is shown
	successor *worker // the one that is to take over
	next      task
}

type task struct {
	spec ipc.WorkerConfig
	env  []string
}

// New makes a supervisor; Run does its work.
func New(o Options) *Supervisor {
	return &Supervisor{
		o: o.withDefaults(), stop: newLatch(), kill: newLatch(), done: newLatch(), renewals: make(chan renewal, 1),
		after: time.After, memoryInterval: time.Second, next: task{o.Spec, o.Env},
	}
}

// Stop lets the worker finish its predictions and ends it. It returns at once.
func (s *Supervisor) Stop() { s.stop.close() }

// Kill ends the worker now, and returns at once.
func (s *Supervisor) Kill() { s.kill.close() }

// Done is closed when the worker has ended and no other will be started.
func (s *Supervisor) Done() <-chan struct{} { return s.done.closed }

// Reset sets what the next processes are started with.
func (s *Supervisor) Reset(spec ipc.WorkerConfig, env []string) {
	s.mu.Lock()
	s.next = task{spec, env}
	s.mu.Unlock()
}

// Run starts workers, one after another, until Stop or Kill, or until no other is to be started.
func (s *Supervisor) Run() {
	defer s.done.close()
	defer s.running.Wait()
	defer s.passTurn()
	var back backoff
	if !s.o.Preloader.await(s.stop.closed, s.kill.closed) {
		return
	}
	worked, retries := false, s.o.Policy.SetupRetries // worked: a process of this supervisor was ready
	for {
		ended := s.runProcess()
		worked = worked || ended.worked
		if ended.stopped {
			return
		}
		var delay time.Duration
		if !ended.retired {
			var again bool
			delay, again = back.died(time.Now(), ended.served)
			never := !worked && !s.o.Fleet.proven()
			if never && again && retries > 0 && s.o.Policy.Restart != Never {
				retries--
				s.o.Logger.Warn("setup is tried again", "worker", s.o.Index, "cause", ended.cause, "tries_left", retries)
			} else if never || s.o.Policy.Restart == Never || !again {
				if !s.linger(ended.cause, never) {
					return
				}
				back, delay, retries = backoff{}, 0, s.o.Policy.SetupRetries
			}
		}
		if delay > 0 {
			s.o.Logger.Warn("worker restarts after a pause", "worker", s.o.Index, "pause", delay.String())
		}
		select {
		case <-s.after(delay):
		case <-s.stop.closed:
			return
		case <-s.kill.closed:
			return
		}
		s.change(func(st *Status) { st.Restarts++ })
	}
}

// linger waits, where no worker is to be started any more, for a reason to start one after all; false: there is none.
func (s *Supervisor) linger(cause string, setupFailed bool) bool {
	if !setupFailed || !s.hidesSetupFailure() {
		s.o.Logger.Error("no worker will be started in its place", "worker", s.o.Index, "cause", cause)
	}
	s.change(func(st *Status) { st.Defunct, st.SetupFailed = true, setupFailed })
	if !s.o.Policy.Linger {
		return false
	}
	var proven <-chan struct{} // closed by another worker's setup: the model was not to blame
	if setupFailed && s.o.Policy.Restart != Never {
		proven = s.o.Fleet.provenBy.closed
	}
	select {
	case <-s.stop.closed:
		return false
	case <-s.kill.closed:
		return false
	case <-proven:
		s.o.Logger.Info("setup is tried again: another worker's went well", "worker", s.o.Index, "cause", cause)
	case r := <-s.renewals:
		s.o.Logger.Info("a worker is started on request", "worker", s.o.Index, "reason", r.why)
	}
	s.change(func(st *Status) { st.Defunct, st.SetupFailed = false, false })
	return true
}

// hidesSetupFailure tells whether the caller reports a failed setup instead of the log.
func (s *Supervisor) hidesSetupFailure() bool {
	return s.o.Policy.HideSetupFailure && !s.o.Fleet.proven()
}

// launch starts a process. Its outcome always arrives on its channel ended.
func (s *Supervisor) launch(successor bool) *worker {
	w := newWorker(s, successor)
	select {
	case <-s.renewals: // this start fulfils it
	default:
	}
	s.mu.Lock()
	next := s.next
	if successor {
		s.successor = w
	} else {
		s.current = w
	}
	s.mu.Unlock()
	err := s.o.Hooks.Prepare(&next.spec)
	if err == nil {
		next.spec.GPULost = s.o.Fleet.gpu.words()
		w.process, err = start(s.o.Exe, next, s.o.Fleet.orphans, s.o.Preloader, s.note)
	}
	if err != nil {
		s.o.Logger.Error("worker not started", "worker", s.o.Index, "error", err)
		w.move(Exited, func(st *ProcessStatus) {
			st.Setup.Failed, st.Setup.Completed, st.Setup.Logs = true, time.Now(), err.Error()
		})
		s.change(func(st *Status) { st.LastExit, st.ExitedAt = err.Error(), time.Now() })
		w.ended <- outcome{cause: err.Error()}
		return w
	}
	w.change(func(st *ProcessStatus) { st.PID = w.process.child.pid })
	s.o.Hooks.OnStart()
	s.o.Logger.Debug("worker started", "worker", s.o.Index, "pid", w.process.child.pid)
	if s.o.Timeouts.Setup > 0 {
		w.setup.late = time.After(s.o.Timeouts.Setup)
	}
	s.running.Go(func() {
		w.run()
		w.ended <- w.finish()
	})
	return w
}

func (s *Supervisor) note(stream source, prediction string, line []byte) {
	attrs := []any{"worker", s.o.Index, "stream", sourceNames[stream]}
	if prediction != "" {
		attrs = append(attrs, "prediction_id", logtext.Clip(prediction))
		if request := s.o.Hooks.RequestOf(prediction); request != "" {
			attrs = append(attrs, "request_id", request)
		}
	}
	s.o.Logger.Info(string(line), attrs...)
}
