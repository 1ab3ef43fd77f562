package modelhost

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/predict"
)

// Enter lets a request into the model, and loads the model first if requests load it. deadline is the request's; zero
// means it has none. callers are the models that wait for it. The caller calls leave once the service has the request,
// or has refused it.
func (l *Lifecycle) Enter(deadline time.Time, callers []string) error {
	l.touch(&l.came)
	l.entering.Add(1)
	if l.open.Load() {
		return nil
	}
	l.Leave()
	return l.await(deadline, callers)
}

// TryEnter is Enter without a wait; false means the model is not ready.
func (l *Lifecycle) TryEnter() bool {
	l.touch(&l.came)
	l.entering.Add(1)
	if l.open.Load() {
		return true
	}
	l.Leave()
	return false
}

// IsReady reports whether requests enter at once.
func (l *Lifecycle) IsReady() bool { return l.open.Load() }

// AwaitReady waits until requests enter at once; false means ctx has ended.
func (l *Lifecycle) AwaitReady(ctx context.Context) bool {
	for {
		l.mu.Lock()
		ready, changed := l.open.Load(), l.changed
		l.mu.Unlock()
		if ready {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Refusal says why the model takes no requests, even if they can wait; nil means it does, or its service says more.
func (l *Lifecycle) Refusal() error {
	if l.open.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.admitsWhileLoading():
		return nil
	case l.state == Failed:
		return l.failed(l.reason)
	case !l.byRequest():
		return l.notLoaded()
	}
	return nil
}

// notLoaded refuses a request that does not load the model.
func (l *Lifecycle) notLoaded() error {
	return &predict.NotReadyError{Reason: "Model " + l.m.Name + " is not loaded" + l.fix(" loads it")}
}

func (l *Lifecycle) Leave() {
	if l.entering.Add(-1) == 0 && !l.open.Load() {
		select {
		case l.left <- struct{}{}:
		default:
		}
	}
}

// touch records the time in used, which is came or ended, if it is needed.
func (l *Lifecycle) touch(used *atomic.Int64) {
	if l.idle != nil || l.m.host.limit.Load() > 0 {
		used.Store(time.Now().UnixNano())
	}
}

var errGivesWay = errors.New("it makes room for another model and waits for its next turn")

// await waits until a request can enter, if requests load the model. Otherwise the service, or the error, says why it
// cannot.
func (l *Lifecycle) await(deadline time.Time, callers []string) error {
	ctx, cancel := context.Background(), func() {}
	if wait := l.m.s.QueueTimeout; wait > 0 && (deadline.IsZero() || time.Until(deadline) > wait) {
		deadline = time.Now().Add(wait)
	}
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()
	l.awaiting.Add(1)
	defer l.awaiting.Add(-1)
	for {
		l.mu.Lock()
		if l.state == Ready && !l.yielding.Load() || l.admitsWhileLoading() {
			l.entering.Add(1)
			l.mu.Unlock()
			return nil
		}
		state, reason, byRequest, changed := l.state, l.reason, l.byRequest(), l.changed
		l.mu.Unlock()
		switch {
		case state == Ready:
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return l.refusal(errGivesWay)
			}
		case state == Failed:
			return l.failed(reason)
		case !byRequest:
			return l.notLoaded()
		}
		if err := l.LoadByRequest(ctx, callers); err != nil {
			return l.refusal(err)
		}
	}
}

// admitsWhileLoading reports, with l.mu held, whether the service answers although the model is not ready, because its
// answer says more.
func (l *Lifecycle) admitsWhileLoading() bool {
	switch l.state {
	case Loading:
		return !l.byRequest() || l.isFirstLoad()
	case Failed:
		return l.m.s.Loading.When == config.AtStartup
	case Defunct:
		return true
	}
	return l.closed
}

// byRequest reports, with l.mu held, whether a request loads the model.
func (l *Lifecycle) byRequest() bool { return l.m.s.Loading.When != config.Manual && !l.heldUnloaded }

func (l *Lifecycle) byRequestNow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byRequest()
}

// isFirstLoad reports, with l.mu held, whether the load of the server's start goes on. Requests do not wait for it.
// They do wait for a model that is added later: it may replace one that they wait for.
func (l *Lifecycle) isFirstLoad() bool {
	return l.state == Loading && l.loads == 1 && l.m.s.Loading.When == config.AtStartup && !l.m.late
}

// FirstLoadPending reports whether the load of the server's start goes on.
func (l *Lifecycle) FirstLoadPending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isFirstLoad()
}

// AcceptsOnDemand reports whether a request would be taken, or would load the model and wait for it.
func (l *Lifecycle) AcceptsOnDemand() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case Unloaded, Unloading:
		return l.byRequest() && !l.closed
	case Loading:
		return l.byRequest() && !l.admitsWhileLoading() && !l.closed
	}
	return false
}

func (l *Lifecycle) failed(reason string) error {
	return &predict.NotReadyError{
		Reason: "Model " + l.m.Name + " could not be loaded: " + reason + l.fix(" tries again"),
	}
}

// fix says what a client may do, if there is something that it may do.
func (l *Lifecycle) fix(does string) string {
	if !l.m.host.o.Config.Exposure.ModelControl() {
		return ""
	}
	return ": POST /models/" + url.PathEscape(l.m.Name) + "/load" + does
}

// refusal returns the answer to a request whose model is not ready in time.
func (l *Lifecycle) refusal(err error) error {
	var failed *failedError
	var full *NoRoomError
	switch {
	case errors.As(err, &failed):
		return l.failed(failed.reason)
	case errors.As(err, &full):
		return &predict.NotReadyError{Reason: err.Error(), RetryAfter: time.Second}
	case errors.Is(err, context.DeadlineExceeded):
		return &predict.NotReadyError{
			Reason:     fmt.Sprintf("Model %s is still being loaded", l.m.Name),
			RetryAfter: time.Second,
		}
	}
	return &predict.NotReadyError{
		Reason:     fmt.Sprintf("Model %s is not loaded: %v", l.m.Name, err),
		RetryAfter: time.Second,
	}
}
