package server

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/loading"
	"pinion/runtime/predict"
	"pinion/runtime/supervise"
)

// life loads and unloads a model: it joins the states of package loading to its processes.
type life struct {
	m *servedModel
	// open: requests may enter without a look at the state. entering is how many are between that and the service, which
	// then counts them.
	open     atomic.Bool
	entering atomic.Int64
	left     chan struct{} // a token: a request has left while the model was not open
	used     atomic.Int64  // when a request last came or ended, in nanoseconds of Unix
	starts   sync.WaitGroup

	mu      sync.Mutex
	state   loading.State
	reason  string        // why it failed, or is defunct
	loads   int           // how often it was loaded
	held    bool          // it was unloaded by a client, so that no request loads it
	closed  bool          // the server stops
	changed chan struct{} // closed at the next change of the state
	need    int64         // bytes that it had when it was last loaded
	idle    *time.Timer   // of --idle-timeout; nil: there is none
}

func newLife(m *servedModel) *life {
	l := &life{m: m, left: make(chan struct{}, 1), changed: make(chan struct{})}
	if m.s.Loading.IdleTimeout > 0 {
		l.idle = time.AfterFunc(time.Hour, l.unloadIdle)
		l.idle.Stop()
	}
	return l
}

// begin loads a model that is to be loaded at the start, and does not wait for its setup.
func (l *life) begin() {
	if l.m.s.Loading.When != config.AtStartup {
		l.m.svc.Unloaded()
		return
	}
	if err := l.start(context.Background()); err != nil {
		l.m.svc.Unloaded()
		l.m.log.Error("the model is not loaded", "error", err)
	}
}

// close ends loading for good: the server stops.
func (l *life) close() {
	l.mu.Lock()
	l.closed = true
	l.wake() // those who wait for a load
	if l.idle != nil {
		l.idle.Stop()
	}
	l.mu.Unlock()
	l.starts.Wait()
}

// move makes a move of the state, with l.mu held. false: the event changes nothing.
func (l *life) move(e loading.Event, reason string) bool {
	next, ok := l.state.After(e)
	if !ok {
		return false
	}
	l.state, l.reason = next, reason
	l.open.Store(next == loading.Ready)
	l.wake()
	if next == loading.Ready && l.idle != nil {
		l.touch()
		l.idle.Reset(l.m.s.Loading.IdleTimeout)
	}
	return true
}

// wake lets those who wait look at the state again, with l.mu held.
func (l *life) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// observe looks at the workers after their states changed.
func (l *life) observe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.m.svc.Status() {
	case "READY", "BUSY":
		if l.move(loading.Up, "") && l.m.server.room.bound.Load() > 0 {
			go l.m.server.shrink(l.m)
		}
	case "SETUP_FAILED":
		l.move(loading.SetupFailed, l.m.failure().What)
	case "DEFUNCT":
		l.move(loading.Lost, l.m.failure().What)
	}
}

// errClosed refuses to load a model while the server stops.
var errClosed = errors.New("the server is shutting down")

// failedError is a model that could not be loaded.
type failedError struct{ reason string }

func (e *failedError) Error() string { return "the setup has failed: " + e.reason }

// load loads the model and returns once it is ready. retry: a load that failed before is tried again.
func (l *life) load(ctx context.Context, retry bool) error {
	for tried := false; ; {
		l.mu.Lock()
		state, reason, changed, closed := l.state, l.reason, l.changed, l.closed
		if retry {
			l.held = false
		}
		l.mu.Unlock()
		switch {
		case closed:
			return errClosed
		case state == loading.Ready:
			return nil
		case (state == loading.Failed || state == loading.Defunct) && (tried || !retry):
			return &failedError{reason}
		case state == loading.Failed || state == loading.Defunct:
			if err := l.unload(ctx, false); err != nil {
				return err
			}
			continue
		case state == loading.Unloaded && tried:
			return errors.New("it was unloaded while it was being loaded")
		case state == loading.Unloaded:
			tried = true
			if err := l.start(ctx); err != nil {
				return err
			}
			continue
		case state == loading.Loading:
			tried = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start starts the workers of a model that has none, once there is room for it.
func (l *life) start(ctx context.Context) error {
	leave, err := l.m.server.makeRoom(ctx, l.m)
	if err != nil {
		return err
	}
	defer leave()
	l.mu.Lock()
	if l.closed || !l.move(loading.Load, "") {
		l.mu.Unlock()
		return nil // another one was first, or the server stops: load looks again
	}
	l.starts.Add(1)
	l.loads++
	l.mu.Unlock()
	defer l.starts.Done()
	if err := l.launch(); err != nil {
		l.m.log.Error("the model is not loaded", "error", err)
		l.mu.Lock()
		l.move(loading.SetupFailed, err.Error())
		l.mu.Unlock()
	}
	return nil
}

// launch reads the model and starts its workers. A shortage of the system is waited out, until the model is to be
// unloaded.
func (l *life) launch() error {
	for tries := 1; ; tries++ {
		read, err := l.m.source.found, error(nil)
		if l.m.source.current.Load() != nil { // it was loaded before
			read, err = l.m.s.FindModel(read.Dir)
		}
		if err == nil {
			err = l.m.startWorkers(read)
		}
		if !supervise.IsShortage(err) || l.m.s.Restart == string(supervise.Never) {
			return err
		}
		delay := supervise.StartDelay(tries)
		l.m.log.Error("the model is not loaded: the server tries again", "error", err, "next_try", delay.String())
		if !l.stays(delay) {
			return nil
		}
	}
}

// stays waits that long; false: the model is to be unloaded before.
func (l *life) stays(delay time.Duration) bool {
	late := time.After(delay)
	for {
		l.mu.Lock()
		loads, changed := l.state == loading.Loading && !l.closed, l.changed
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

// unload ends the model's processes, and returns once they are gone. hold: no request loads it again.
func (l *life) unload(ctx context.Context, hold bool) error {
	for {
		l.mu.Lock()
		state, changed, closed := l.state, l.changed, l.closed
		l.held = l.held || hold
		if !closed && l.move(loading.Unload, "") {
			go l.end()
			changed = l.changed
		}
		l.mu.Unlock()
		switch {
		case closed:
			return errClosed
		case state == loading.Unloaded:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unloadIfIdle begins to unload the model if nothing has run since a time; false: it goes on.
func (l *life) unloadIfIdle(since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != loading.Ready || l.closed {
		return false
	}
	l.open.Store(false) // from here on requests wait for l.mu
	if !l.rests() || l.lastUse().After(since) {
		l.open.Store(true)
		return false
	}
	l.move(loading.Unload, "")
	go l.end()
	return true
}

// rests reports whether no prediction runs, waits, or is about to.
func (l *life) rests() bool { return l.entering.Load() == 0 && l.m.svc.InFlight() == 0 }

func (l *life) lastUse() time.Time { return time.Unix(0, l.used.Load()) }

// unloadIdle is called by the timer of --idle-timeout.
func (l *life) unloadIdle() {
	timeout := l.m.s.Loading.IdleTimeout
	if l.unloadIfIdle(time.Now().Add(-timeout)) {
		l.m.log.Info("the model is unloaded", "idle", timeout.String())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == loading.Ready && !l.closed { // Ready sets the timer of the next load
		l.idle.Reset(max(timeout-time.Since(l.lastUse()), timeout/10))
	}
}

// end ends the processes of a model that takes no more requests.
func (l *life) end() {
	m := l.m
	l.starts.Wait() // it may be unloaded while its workers are being started
	for l.entering.Load() > 0 {
		<-l.left
	}
	grace := time.NewTimer(m.server.s.Grace)
	defer grace.Stop()
	select {
	case <-m.svc.Idle():
	case <-grace.C:
		m.log.Warn("the grace is over: cancelling what is in flight", "predictions", m.svc.InFlight())
		m.svc.CancelAll()
		select {
		case <-m.svc.Idle():
		case <-time.After(m.s.CancelGrace + lastWait):
		}
	}
	set, need := m.workers.current(), m.memory()
	set.stop(false)
	set.wait()
	m.workers.replace(workerSet{})
	m.svc.Unloaded()
	l.mu.Lock()
	defer l.mu.Unlock()
	if need > 0 {
		l.need = need
	}
	l.move(loading.Gone, "")
	m.log.Info("unloaded")
}

// standing is the model's state, and why it is failed or defunct.
func (l *life) standing() (loading.State, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.reason
}

// changer is what POST /models/{name}/load or unload calls, where that is allowed.
func (m *servedModel) changer(verb string, change func(*life) error) func() error {
	if !m.server.s.Exposure.Reload {
		return nil
	}
	return func() error {
		m.log.Info(verb+"ing", "asked_by", "POST /models/"+url.PathEscape(m.name)+"/"+verb)
		err := change(m.life)
		var full *loading.NoRoomError
		if errors.As(err, &full) || errors.Is(err, errClosed) {
			return &predict.NotReadyError{Reason: err.Error(), RetryAfter: time.Second}
		}
		return err
	}
}
