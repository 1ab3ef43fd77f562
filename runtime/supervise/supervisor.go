package supervise

import (
	"context"
	"log/slog"
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
	memoryInterval time.Duration // between two checks of a worker's memory

	mu        sync.Mutex
	status    Status  // except for its ProcessStatus, which each worker has
	current   *worker // the one whose status is shown
	successor *worker // the one that will take over
	next      task
	ranks     int // that the model asked for; 0 if it did not
	ports     int // setups in a row that found their port taken
}

type task struct {
	spec ipc.WorkerConfig
	env  []string
}

// New returns a supervisor; Run does its work.
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

// Done returns a channel that is closed when the worker has ended and no other will be started.
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
	defer s.o.Fleet.breaker.leave(s)
	if !s.o.Preloader.await(s.stop.closed, s.kill.closed) {
		return
	}
	h := history{retries: s.o.Policy.SetupRetries}
	for {
		ended := s.runProcess()
		if ended.stopped {
			return
		}
		delay, again := s.afterExit(&h, ended)
		if !again {
			return
		}
		select {
		case <-s.after(delay):
		case <-s.stop.closed:
			return
		case <-s.kill.closed:
			return
		}
		if !ended.unstarted && !ended.again {
			s.change(func(st *Status) { st.Restarts++ })
		}
	}
}

// history is the state on which the next start of a supervisor depends.
type history struct {
	back     backoff
	worked   bool // a process of this supervisor was ready
	retries  int  // left for the setup
	unstarts int  // consecutive failed starts
	trial    bool // the breaker allowed one worker to be tried
}

// afterExit decides what follows a process: another one after a delay, or, if again is false, none.
func (s *Supervisor) afterExit(h *history, ended outcome) (delay time.Duration, again bool) {
	h.worked = h.worked || ended.worked
	if ended.unstarted {
		h.unstarts++
		return s.afterUnstarted(h, ended.cause), true
	}
	if h.unstarts = 0; ended.retired || ended.again {
		return 0, true
	}
	if ended.served {
		s.o.Fleet.breaker.served()
	}
	delay, again = h.back.died(time.Now(), ended.served)
	failedTrial := h.trial && !ended.served && !ended.lasted
	h.trial = false
	never := !h.worked && !s.o.Fleet.proven()
	switch {
	case never && again && h.retries > 0 && s.o.Policy.Restart != Never:
		h.retries--
		s.o.Logger.Warn("setup is tried again", "worker", s.o.Index, "cause", ended.cause, "tries_left", h.retries)
	case !never && s.o.Policy.Restart != Never && s.o.Policy.Linger && (failedTrial || !again):
		h.back, h.retries = backoff{}, s.o.Policy.SetupRetries
		h.trial, again = s.pause(ended.cause)
		return 0, again
	case never || s.o.Policy.Restart == Never || !again:
		if !s.linger(ended.cause, never) {
			return 0, false
		}
		h.back, delay, h.retries = backoff{}, 0, s.o.Policy.SetupRetries
	}
	if delay > 0 {
		s.o.Logger.Warn("worker restarts after a pause", "worker", s.o.Index, "pause", delay.String())
	}
	return delay, true
}

// afterUnstarted updates the status after a process could not be started, and returns the delay before the next try.
func (s *Supervisor) afterUnstarted(h *history, cause string) time.Duration {
	delay := StartDelay(h.unstarts)
	s.o.Logger.Error("worker not started: the server tries again", "worker", s.o.Index, "error", cause, "failed_starts",
		h.unstarts,
		"next_try", delay.String())
	s.change(func(st *Status) {
		st.NextStart = time.Now().Add(delay)
		st.Blocked = h.unstarts >= blockedStarts
	})
	return delay
}

// pause waits, after workers have died too often, until one may be tried. trial means that this worker is the one whose
// result counts. again is false if the supervisor was stopped first.
func (s *Supervisor) pause(cause string) (trial, again bool) {
	b, now := s.o.Fleet.breaker, time.Now()
	b.trip(s, now)
	due, _ := b.state()
	s.o.Logger.Error("workers die too often: the server takes no predictions until a worker is tried again",
		"worker", s.o.Index, "cause", cause, "next_try", due.Format(time.RFC3339))
	for {
		due, hope := b.state()
		s.change(func(st *Status) { st.Defunct, st.NextStart, st.Hopeless = true, due, !hope })
		yes, wait, changed := b.mayStart(s, now)
		if yes {
			s.o.Logger.Info("a worker is tried again", "worker", s.o.Index)
			return true, true
		}
		select {
		case <-s.stop.closed:
			return false, false
		case <-s.kill.closed:
			return false, false
		case r := <-s.renewals:
			b.close()
			s.startOnRequest(r)
			return false, true
		case <-s.after(wait):
			now = now.Add(wait)
		case <-changed:
			now = time.Now()
		}
	}
}

func (s *Supervisor) startOnRequest(r renewal) {
	s.o.Logger.Info("a worker is started on request", "worker", s.o.Index, "reason", r.why)
	s.change(func(st *Status) { st.clearDefunct() })
}

// linger waits, when no worker is to be started any more, for a reason to start one after all. It returns false if
// there is none.
func (s *Supervisor) linger(cause string, setupFailed bool) bool {
	if !setupFailed || !s.hidesSetupFailure() {
		s.o.Logger.Error("no worker will be started in its place", "worker", s.o.Index, "cause", cause)
	}
	s.change(func(st *Status) { st.Defunct, st.SetupFailed, st.Hopeless = true, setupFailed, true })
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
		s.startOnRequest(r)
		return true
	}
	s.change(func(st *Status) { st.clearDefunct() })
	return true
}

// hidesSetupFailure reports whether the caller reports a failed setup instead of the log.
func (s *Supervisor) hidesSetupFailure() bool {
	return s.o.Policy.HideSetupFailure && !s.o.Fleet.proven()
}

// launch starts a process. Its outcome always arrives on its channel ended.
func (s *Supervisor) launch(successor bool) *worker {
	w := newWorker(s, successor)
	select {
	case <-s.renewals: // this start serves the request
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
		var others []task
		port := 0
		w.settled = next.spec.Ranks > 0
		if next, others, port, err = s.rankTasks(next); err == nil {
			w.process, err = start(s.o.Exe, next, s.o.Fleet.orphans, s.o.Preloader, newRecorder(s.o.Logger, s.note))
		}
		if err == nil && others != nil {
			w.join(others, port)
		}
	}
	if err != nil {
		w.unstarted(err)
		return w
	}
	w.change(func(st *ProcessStatus) { st.PID = w.process.child.pid })
	s.o.Hooks.OnStart()
	s.o.Logger.Debug("worker started", "worker", s.o.Index, "pid", w.process.child.pid)
	w.limitSetup()
	s.running.Go(func() {
		w.run()
		ended := w.finish()
		w.clear()
		w.ended <- ended
	})
	return w
}

func (s *Supervisor) note(level slog.Level, stream source, prediction string, line []byte, more ...any) {
	s.noteLine(level, stream, prediction, line, more)
}

// noteWith is note with more attributes.
func (s *Supervisor) noteWith(always ...any) noteFunc {
	return func(level slog.Level, stream source, prediction string, line []byte, more ...any) {
		s.noteLine(level, stream, prediction, line, append(more, always...))
	}
}

func (s *Supervisor) noteLine(level slog.Level, stream source, prediction string, line []byte, more []any) {
	attrs := append([]any{"worker", s.o.Index, "stream", sourceNames[stream]}, more...)
	if prediction != "" {
		attrs = append(attrs, "prediction_id", logtext.Clip(prediction))
		if request := s.o.Hooks.RequestOf(prediction); request != "" {
			attrs = append(attrs, "request_id", request)
		}
	}
	s.o.Logger.Log(context.Background(), level, string(line), attrs...)
}
