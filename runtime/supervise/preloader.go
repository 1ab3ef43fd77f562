package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/health"
)

// Preloader keeps a preload process, which has imported the model's modules and forks workers; if so asked, it has also
// run the model's setup. While there is none, because it was refused, has exited or is still importing, workers are
// started the ordinary way. If only the setup is refused, another process takes its place, which only imports.
//
// The front must be a child subreaper (prctl) and have Orphans: that makes it the parent of forked workers.
// A nil *Preloader never has a process.
type Preloader struct {
	o    PreloaderOptions
	pids pidsGroup

	renewing sync.Mutex     // held while the process is being replaced
	clearing sync.WaitGroup // of processes whose descendants may be left

	mu      sync.Mutex
	closed  bool
	urgent  bool            // Kill was called
	current *preloadProcess // or nil
	next    *preloadProcess // the one that is importing the model, or nil
	status  health.Preload
	back    backoff
	pauses  int   // after too many consecutive exits, without a fork in between
	failed  int   // consecutive failed starts
	settled latch // closed once the first process is ready or refused
}

type PreloaderOptions struct {
	Exe     string
	Spec    ipc.WorkerConfig // of its workers
	Env     []string         // of its workers, without what differs between them
	Timeout time.Duration
	// TimeoutFrom is SetupFrom of Timeouts, for a process that runs the model's setup.
	TimeoutFrom func() <-chan struct{}
	Setup       bool // the process also runs the model's setup
	Orphans     *Orphans
	Logger      *slog.Logger
	// Prepare is called before each start, as Hooks.Prepare is.
	Prepare func(*ipc.WorkerConfig) error
	// OnChange is called after each change of Status.
	OnChange func()
}

// The states of a preload process, as health shows them.
const (
	PreloaderImporting = "importing"
	PreloaderReady     = "ready"
	PreloaderRefused   = "refused" // no worker can be forked; Reason says why
	PreloaderExited    = "gone"    // it exited or could not be started; another follows after a delay
)

// NewPreloader returns a Preloader; Start begins its work.
func NewPreloader(o PreloaderOptions) *Preloader {
	return &Preloader{
		o: o, pids: pidsGroup(findGroup("/", "pids")), settled: newLatch(),
		status: health.Preload{State: PreloaderImporting},
	}
}

// Health returns the preload process's part of the health document, or nil if p is nil.
func (p *Preloader) Health() *health.Preload {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.status
	return &h
}

// HasSetUp reports whether there is a process that has run the setup, from which workers are forked.
func (p *Preloader) HasSetUp() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status.State == PreloaderReady && p.status.Setup
}

// Fits reports whether workers of this kind can be forked from its process.
func (p *Preloader) Fits(spec ipc.WorkerConfig) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil && p.current.fits(spec)
}

// Start starts the first process, and returns at once. It does nothing if there was one already.
func (p *Preloader) Start() {
	if isClosed(p.settled.closed) {
		return
	}
	go func() {
		p.Renew(p.o.Spec, p.o.Env)
		p.settled.close()
	}()
}

// Renew starts a process that imports the modules anew, and returns when it is ready or refused. Until then workers are
// forked from the old process.
func (p *Preloader) Renew(spec ipc.WorkerConfig, env []string) {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	p.mu.Lock()
	p.o.Spec, p.o.Env = spec, env
	old := p.current
	p.mu.Unlock()
	spec.PreloadSetup = p.o.Setup
	next, err := p.launch(spec, env)
	why := ""
	if refused := (*setupError)(nil); errors.As(err, &refused) {
		why = err.Error()
		p.o.Logger.Warn("no worker can be forked after the setup: the setup was in vain, and each worker runs its own",
			"reason", why, "setup_seconds", threeDigits(refused.seconds),
			"fix", "mend what the reason names, or use --preload=imports")
		spec.PreloadSetup = false
		next, err = p.launch(spec, env)
	}
	p.mu.Lock()
	p.next = nil
	if p.closed {
		p.mu.Unlock()
		p.retire(next)
		return
	}
	var unstarted *startError
	switch p.current = next; {
	case err == nil:
		p.status.State, p.status.PID, p.status.Reason, p.status.Setup = PreloaderReady, next.child.pid, why, spec.PreloadSetup
		p.failed = 0
	case errors.As(err, &unstarted):
		p.status.State, p.status.PID, p.status.Reason = PreloaderExited, 0, err.Error()
		p.failed++
		time.AfterFunc(StartDelay(p.failed), func() { p.follow(spec, env) })
	default:
		p.status.State, p.status.PID, p.status.Reason = PreloaderRefused, 0, err.Error()
	}
	p.mu.Unlock()
	p.retire(old)
	p.o.OnChange()
	if err != nil {
		p.o.Logger.Warn("no preload process: each worker imports the model itself", "reason", err)
		return
	}
	if spec.PreloadSetup {
		p.o.Logger.Info("preload process ready: workers are forked after its setup", "pid", next.child.pid, "setup_seconds",
			threeDigits(next.setupSeconds))
	} else {
		p.o.Logger.Info("preload process ready", "pid", next.child.pid, "import_seconds", next.took.Seconds())
	}
	go p.watch(next)
}

// setupError means that workers can be forked after the import, but not after the setup.
type setupError struct {
	reason  string
	seconds float64 // what the setup took
}

func (e *setupError) Error() string { return e.reason }

// retire ends a process that forks no more workers. One that has run the setup first waits for its workers, which use
// its files, and then runs its cleanups; retire does not wait for that.
func (p *Preloader) retire(m *preloadProcess) {
	if m == nil || !m.task.spec.PreloadSetup {
		m.end()
		return
	}
	go func() {
		m.awaitWorkers()
		m.channel.Close()
		p.mu.Lock()
		timeout := cleanupTimeout
		if p.urgent {
			timeout = lastTimeout
		}
		p.mu.Unlock()
		m.awaitExit(timeout)
		m.end()
	}()
}

// cleanupTimeout is how long the atexit handlers of a preload process may take.
const cleanupTimeout = 10 * time.Second

// startError means that this server could not start a preload process, for a reason that may be temporary.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// launch starts a process and waits until it has imported the model. It returns an error if no worker can be forked.
func (p *Preloader) launch(spec ipc.WorkerConfig, env []string) (*preloadProcess, error) {
	if p.o.Prepare != nil {
		if err := p.o.Prepare(&spec); err != nil {
			return nil, &startError{err}
		}
	}
	refusals := p.pids.refusals()
	m, err := startPreloadProcess(p.o.Exe, task{spec, env}, p.o.Orphans, newRecorder(p.o.Logger, p.note))
	if err != nil {
		return nil, &startError{err}
	}
	p.clearing.Go(func() { m.awaitCleared() })
	p.mu.Lock()
	p.next = m // so that Close finds it
	closed := p.closed
	p.mu.Unlock()
	if closed {
		m.end()
	}
	if err = p.awaitReady(m); err == nil {
		return m, nil
	}
	if refused := (*setupError)(nil); errors.As(err, &refused) {
		m.awaitExit(cleanupTimeout)
	}
	m.end()
	if spec.PreloadSetup { // its ports, files and memory are free for the setups of the workers
		m.awaitCleared()
	}
	if p.pids.refusals() > refusals {
		err = &startError{fmt.Errorf("%w%s", err, refusedThreads)}
	}
	return nil, err
}

// awaitReady waits until a process is ready. The error says why it will not be.
func (p *Preloader) awaitReady(m *preloadProcess) error {
	setup := m.task.spec.PreloadSetup
	var late <-chan time.Time
	var from <-chan struct{}
	if p.o.Timeout > 0 && setup && p.o.TimeoutFrom != nil {
		from = p.o.TimeoutFrom()
	}
	for {
		if p.o.Timeout > 0 && from == nil && late == nil {
			late = time.After(p.o.Timeout)
		}
		select {
		case err := <-m.ready:
			return err
		case <-from:
			from = nil
		case <-late:
			what := "import was"
			if setup {
				what = "import and setup were"
			}
			return fmt.Errorf("its %s not done after %s", what, p.o.Timeout)
		}
	}
}

func (p *Preloader) watch(m *preloadProcess) {
	select {
	case <-m.child.exited:
	case <-m.gaveUp.closed:
	}
	p.mu.Lock()
	if p.closed || p.current != m {
		p.mu.Unlock()
		return
	}
	cause := m.cause("after the import")
	p.current = nil
	p.status.State, p.status.PID, p.status.Reason = PreloaderExited, 0, cause
	p.status.Setup = false
	delay, again := p.back.died(time.Now(), m.forked())
	if m.forked() {
		p.pauses = 0
	}
	if !again {
		delay = pauseAfter(p.pauses)
		p.pauses++
	}
	spec, env := p.o.Spec, p.o.Env
	p.mu.Unlock()
	m.end()
	p.o.OnChange()
	p.o.Logger.Error("the preload process has ended: each worker imports the model itself", "cause", cause, "next_try",
		delay.String())
	time.AfterFunc(delay, func() { p.follow(spec, env) })
}

// follow starts a process as Renew does, unless there is one already.
func (p *Preloader) follow(spec ipc.WorkerConfig, env []string) {
	p.mu.Lock()
	needed := !p.closed && p.current == nil && p.status.State == PreloaderExited
	p.mu.Unlock()
	if needed {
		p.Renew(spec, env)
	}
}

// await waits until the first process is ready or refused; false means stop or kill came first.
func (p *Preloader) await(stop, kill <-chan struct{}) bool {
	if p == nil {
		return true
	}
	select {
	case <-p.settled.closed:
		return true
	case <-stop:
	case <-kill:
	}
	return false
}

// Close ends the process.
func (p *Preloader) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	current, next := p.current, p.next
	p.mu.Unlock()
	if current != nil && current.task.spec.PreloadSetup {
		p.retire(current)
	} else {
		current.endWithin(lastTimeout)
	}
	next.endWithin(lastTimeout)
}

// Kill has the process end soon after its workers.
func (p *Preloader) Kill() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.urgent = true
	p.mu.Unlock()
	p.Close()
}

// fork forks a worker, and returns the process that it is a fork of; nil means the worker must be started the ordinary
// way. An error means that it is to be forked later: the setup is not run again for a shortage.
func (p *Preloader) fork(c *child, t task, files [handles]*os.File) (*preloadProcess, error) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	m := p.current
	ready := p.status.State == PreloaderReady && m != nil && m.fits(t.spec)
	p.mu.Unlock()
	if !ready {
		return nil, nil
	}
	began := time.Now()
	err := p.o.Orphans.adopt(c, func(score int) (int, error) { return m.fork(c, score, t, files) })
	switch {
	case err != nil && m.task.spec.PreloadSetup && errors.Is(err, errNotForked) && !m.hasThreads.Load():
		return nil, err
	case err != nil:
		p.o.Logger.Warn("no worker could be forked: it is started the ordinary way", "error", err)
		if !errors.Is(err, errNotForked) || m.hasThreads.Load() && m.task.spec.PreloadSetup {
			m.end() // it may be stuck, or forks no more; watch starts another
		}
		return nil, nil
	}
	if m.forks.Load() == 1 && m.task.spec.PreloadSetup {
		p.o.Logger.Info(fmt.Sprintf("setup took %.1f s; workers are forked from it in %.1f ms", m.setupSeconds,
			float64(time.Since(began).Microseconds())/1000))
	}
	p.mu.Lock()
	p.status.Forked++
	p.mu.Unlock()
	return m, nil
}

// Wait returns when the preload processes, their workers and all their descendants have ended.
func (p *Preloader) Wait() {
	if p != nil {
		p.clearing.Wait()
	}
}

// note logs a line that the model's modules wrote during their import. The field is named template, as documented, and
// must not change.
func (p *Preloader) note(level slog.Level, stream source, _ string, line []byte, more ...any) {
	attrs := append([]any{"template", true, "stream", sourceNames[stream]}, more...)
	p.o.Logger.Log(context.Background(), level, string(line), attrs...)
}
