package modelhost

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/health"
	"pinion/runtime/supervise"
)

// Lifecycle loads and unloads a model: it joins the states to the model's processes.
type Lifecycle struct {
	m *Model
	// open means that requests may enter without checking the state. entering is how many have entered and are not yet
	// counted by the service.
	open     atomic.Bool
	entering atomic.Int64
	left     chan struct{} // a token: a request has left while the model was not open
	awaiting atomic.Int64  // requests that wait until they can enter
	yielding atomic.Bool   // it is ready, but requests wait until another model is loaded: see turn.go
	came     atomic.Int64  // when a request last came, in Unix nanoseconds
	ended    atomic.Int64  // when one last ended
	starts   sync.WaitGroup
	// predecessor is closed when the model that this one replaces has ended; nil means this one starts beside it.
	predecessor <-chan struct{}

	mu           sync.Mutex
	state        State
	reason       string        // why it failed, or is defunct
	loads        int           // how often it was loaded
	heldUnloaded bool          // a client has unloaded it, so no request loads it
	keepsSetup   bool          // it is being unloaded for --idle-timeout: a preload process that has run the setup stays
	closed       bool          // the server stops
	changed      chan struct{} // closed at the next change of the state
	need         int64         // bytes that it had when it was last loaded
	idle         *time.Timer   // of --idle-timeout, or nil
	began        time.Time     // when its load, or its turn, began
	turnEnds     time.Time     // before that it makes no room for another: see keptUntil
	waiters      int           // loads of others that wait for its memory
}

func newLifecycle(m *Model) *Lifecycle {
	l := &Lifecycle{m: m, left: make(chan struct{}, 1), changed: make(chan struct{})}
	if m.s.Loading.IdleTimeout > 0 {
		l.idle = time.AfterFunc(time.Hour, l.unloadIdle)
		l.idle.Stop()
	}
	return l
}

// Follow delays loading until the model that this one replaces has ended. It is called before Begin.
func (l *Lifecycle) Follow(ended <-chan struct{}) { l.predecessor = ended }

// begin loads a model that is to be loaded at the start, and does not wait for its setup.
func (l *Lifecycle) begin() {
	if l.m.s.Loading.When != config.AtStartup {
		l.m.Service.Unloaded()
		return
	}
	if l.predecessor == nil {
		l.beginLoad()
		return
	}
	go func() {
		if l.awaitPredecessor(context.Background()) == nil && l.byRequestNow() {
			l.beginLoad()
		}
	}()
}

func (l *Lifecycle) beginLoad() {
	if err := l.start(context.Background(), time.Time{}); err != nil {
		l.m.Service.Unloaded()
		l.m.Log.Error("the model is not loaded", "error", err)
	}
}

// awaitPredecessor waits until the model that this one replaces has ended.
func (l *Lifecycle) awaitPredecessor(ctx context.Context) error {
	for l.predecessor != nil {
		l.mu.Lock()
		changed, closed := l.changed, l.closed
		l.mu.Unlock()
		if closed {
			return ErrClosed
		}
		select {
		case <-l.predecessor:
			return nil
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends loading for good: the server stops.
func (l *Lifecycle) Close() {
	l.mu.Lock()
	l.closed = true
	l.wake() // callers that wait for a load
	if l.idle != nil {
		l.idle.Stop()
	}
	l.mu.Unlock()
	l.starts.Wait()
}

// move changes the state, with l.mu held. false means that the table does not have the move, and nothing changes.
func (l *Lifecycle) move(next State, reason string) bool {
	if !stateMoves.Allows(l.state, next) {
		return false
	}
	switch {
	case next == Loading:
		l.began = time.Now()
	case next == Ready && l.state == Loading:
		l.beginTurn(time.Since(l.began))
	case next == Ready: // a reload has fixed it
		l.beginTurn(0)
	}
	l.state, l.reason = next, reason
	l.yielding.Store(false)
	l.open.Store(next == Ready)
	l.wake()
	if next == Ready && l.idle != nil {
		l.touch(&l.ended)
		l.idle.Reset(l.m.s.Loading.IdleTimeout)
	}
	return true
}

// wake makes waiting callers check the state again, with l.mu held.
func (l *Lifecycle) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// observe checks the workers after their states changed.
func (l *Lifecycle) observe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.m.Service.Status() {
	case health.Ready, health.Busy:
		if l.move(Ready, "") && l.m.host.limit.Load() > 0 {
			go l.m.host.shrink(l.m)
		}
	case health.Failed:
		l.move(Failed, l.m.Failure().What)
	case health.Defunct:
		l.move(Defunct, l.m.Failure().What)
	}
}

// ErrClosed refuses to load a model while the server stops.
var ErrClosed = errors.New("the server is shutting down")

// CancelWait is how long canceled predictions may take beyond the grace of the cancel itself: their workers are being
// killed.
const CancelWait = 5 * time.Second

// failedError is the error of a model that could not be loaded.
type failedError struct{ reason string }

func (e *failedError) Error() string { return "the setup has failed: " + e.reason }

// Load loads the model and returns once it is ready. retry means that a load that failed before is tried again.
func (l *Lifecycle) Load(ctx context.Context, retry bool) error {
	return l.load(ctx, retry, time.Time{})
}

// load is Load, except that it evicts no model whose turn ends before a time.
func (l *Lifecycle) load(ctx context.Context, retry bool, waits time.Time) error {
	for tried := false; ; {
		l.mu.Lock()
		state, reason, changed, closed := l.state, l.reason, l.changed, l.closed
		if retry {
			l.heldUnloaded = false
		}
		l.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case state == Ready:
			return nil
		case (state == Failed || state == Defunct) && (tried || !retry):
			return &failedError{reason}
		case state == Failed || state == Defunct:
			if err := l.Unload(ctx, false); err != nil {
				return err
			}
			continue
		case state == Unloaded && tried:
			return errors.New("it was unloaded while it was being loaded")
		case state == Unloaded:
			tried = true
			if err := l.start(ctx, waits); err != nil {
				return err
			}
			continue
		case state == Loading:
			tried = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start starts the workers of a model that has none, once there is room for it. No model is evicted whose turn ends
// before waits.
func (l *Lifecycle) start(ctx context.Context, waits time.Time) error {
	if err := l.awaitPredecessor(ctx); err != nil {
		return err
	}
	leave, err := l.m.host.makeRoom(ctx, l.m, waits)
	if err != nil {
		return err
	}
	defer leave()
	l.mu.Lock()
	if l.closed || !l.move(Loading, "") {
		l.mu.Unlock()
		return nil // another load was first, or the server stops: load checks again
	}
	l.starts.Add(1)
	l.loads++
	l.mu.Unlock()
	defer l.starts.Done()
	if err := l.launch(); err != nil {
		l.m.Log.Error("the model is not loaded", "error", err)
		l.mu.Lock()
		l.move(Failed, err.Error())
		l.mu.Unlock()
	}
	return nil
}

// launch reads the model and starts its workers. A shortage of the system is waited out, until the model is to be
// unloaded.
func (l *Lifecycle) launch() error {
	for tries := 1; ; tries++ {
		read, err := l.m.source.found, error(nil)
		if l.m.source.current.Load() != nil { // it was loaded before
			read, err = l.m.s.FindModel(read.Dir)
		}
		if err == nil {
			err = l.m.startWorkers(read)
		}
		if !supervise.IsShortage(err) || l.m.s.Fleet.Restart == string(supervise.Never) {
			return err
		}
		delay := supervise.StartDelay(tries)
		l.m.Log.Error("the model is not loaded: the server tries again", "error", err, "next_try", delay.String())
		if !l.awaitRetry(delay) {
			return nil
		}
	}
}

// awaitRetry waits for delay; false means the model is to be unloaded before that.
func (l *Lifecycle) awaitRetry(delay time.Duration) bool {
	late := time.After(delay)
	for {
		l.mu.Lock()
		loads, changed := l.state == Loading && !l.closed, l.changed
		l.mu.Unlock()
		if !loads {
			return false
		}
		select {
		case <-late:
			return true
		case <-changed:
		}
	}
}

// Unload ends the model's processes, and returns once they are gone. hold means that no request loads it again.
func (l *Lifecycle) Unload(ctx context.Context, hold bool) error {
	for {
		l.mu.Lock()
		state, changed, closed := l.state, l.changed, l.closed
		l.heldUnloaded = l.heldUnloaded || hold
		if !closed && l.move(Unloading, "") {
			go l.end()
			changed = l.changed
		}
		l.keepsSetup = false
		l.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case state == Unloaded:
			l.m.dropSetup()
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unloadIfIdle begins to unload the model if nothing has run since a time; false means it goes on. keepsSetup means that
// a preload process that has run the setup stays, so that the next load takes milliseconds.
func (l *Lifecycle) unloadIfIdle(since time.Time, keepsSetup bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Ready || l.closed {
		return false
	}
	l.open.Store(false) // from here on requests wait for l.mu
	if !l.isIdle() || !l.yielding.Load() && l.lastUse().After(since) {
		l.open.Store(!l.yielding.Load())
		return false
	}
	l.keepsSetup = keepsSetup
	l.move(Unloading, "")
	go l.end()
	return true
}

// isIdle reports whether no prediction runs, waits, or is about to. A prediction that waits for the model's next turn
// does not count.
func (l *Lifecycle) isIdle() bool {
	return l.entering.Load() == 0 && l.m.Service.InFlight() == 0 && (l.awaiting.Load() == 0 || l.yielding.Load())
}

func (l *Lifecycle) lastUse() time.Time { return time.Unix(0, max(l.came.Load(), l.ended.Load())) }

// unloadIdle is called by the timer of --idle-timeout.
func (l *Lifecycle) unloadIdle() {
	timeout := l.m.s.Loading.IdleTimeout
	if l.unloadIfIdle(time.Now().Add(-timeout), true) {
		l.m.Log.Info("the model is unloaded", "idle", timeout.String())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == Ready && !l.closed { // Ready sets the timer of the next load
		l.idle.Reset(max(timeout-time.Since(l.lastUse()), timeout/10))
	}
}

// end ends the processes of a model that takes no more requests.
func (l *Lifecycle) end() {
	m := l.m
	l.starts.Wait() // it may be unloaded while its workers are being started
	for l.entering.Load() > 0 {
		<-l.left
	}
	grace := time.NewTimer(m.host.o.Config.Grace)
	defer grace.Stop()
	select {
	case <-m.Service.Idle():
	case <-grace.C:
		m.Log.Warn("the grace period is over: canceling the predictions in flight", "predictions", m.Service.InFlight())
		if m.Overdue != nil {
			m.Overdue()
		}
		m.Service.CancelAll()
		select {
		case <-m.Service.Idle():
		case <-time.After(m.s.CancelGrace + CancelWait):
		}
	}
	set, need := m.workers.current(), m.memory()
	kept := workerSet{}
	l.mu.Lock()
	if l.keepsSetup && set.preloader.HasSetUp() {
		kept.preloader, set.preloader = set.preloader, nil
	}
	l.mu.Unlock()
	set.stop(false)
	set.wait()
	m.workers.replace(kept)
	m.weights.Close()
	m.Service.Unloaded()
	l.mu.Lock()
	defer l.mu.Unlock()
	if need > 0 {
		l.need = need
	}
	l.move(Unloaded, "")
	m.Log.Info("unloaded")
}

// State returns the model's state, and why it is failed or defunct.
func (l *Lifecycle) State() (state State, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.reason
}
