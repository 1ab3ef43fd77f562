package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/loading"
	"pinion/runtime/predict"
)

// enter lets a request into the model, which loads it if that is the model's way. deadline is the request's; zero: it
// has none. leave follows once the service has the request, or has refused it.
func (l *life) enter(deadline time.Time) error {
	l.touch()
	l.entering.Add(1)
	if l.open.Load() {
		return nil
	}
	l.leave()
	return l.await(deadline)
}

func (l *life) leave() {
	if l.entering.Add(-1) == 0 && !l.open.Load() {
		select {
		case l.left <- struct{}{}:
		default:
		}
	}
}

// touch records a use, where it matters.
func (l *life) touch() {
	if l.idle != nil || l.m.server.room.bound.Load() > 0 {
		l.used.Store(time.Now().UnixNano())
	}
}

// await waits until a request can enter, where a request loads the model; else the service, or the error, says why it
// cannot.
func (l *life) await(deadline time.Time) error {
	ctx, cancel := context.Background(), func() {}
	if wait := l.m.s.QueueTimeout; wait > 0 && (deadline.IsZero() || time.Until(deadline) > wait) {
		deadline = time.Now().Add(wait)
	}
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()
	for {
		l.mu.Lock()
		if l.state == loading.Ready || l.passes() {
			l.entering.Add(1)
			l.mu.Unlock()
			return nil
		}
		state, reason, byRequest := l.state, l.reason, l.byRequest()
		l.mu.Unlock()
		switch {
		case state == loading.Failed:
			return l.failed(reason)
		case !byRequest:
			return &predict.NotReadyError{Reason: "Model " + l.m.name + " is not loaded" + l.advice(" loads it")}
		}
		if err := l.load(ctx, false); err != nil {
			return l.refusal(err)
		}
	}
}

// passes reports, with l.mu held, whether the service is to answer though the model is not ready: it says more.
func (l *life) passes() bool {
	switch l.state {
	case loading.Loading:
		return !l.byRequest() || l.m.s.Loading.When == config.AtStartup && l.loads == 1
	case loading.Failed:
		return l.m.s.Loading.When == config.AtStartup
	case loading.Defunct:
		return true
	}
	return l.closed
}

// byRequest reports, with l.mu held, whether a request loads the model.
func (l *life) byRequest() bool { return l.m.s.Loading.When != config.Manual && !l.held }

// begins reports whether the first load of a model goes on that is to be loaded at the start.
func (l *life) begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == loading.Loading && l.loads == 1 && l.m.s.Loading.When == config.AtStartup
}

// takes reports whether a request would be taken, or would load the model and wait for it.
func (l *life) takes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case loading.Unloaded, loading.Unloading:
		return l.byRequest() && !l.closed
	case loading.Loading:
		return l.byRequest() && !l.passes() && !l.closed
	}
	return false
}

func (l *life) failed(reason string) error {
	return &predict.NotReadyError{
		Reason: "Model " + l.m.name + " could not be loaded: " + reason + l.advice(" tries again"),
	}
}

// advice says what a client may do, where it may.
func (l *life) advice(does string) string {
	if !l.m.server.s.Exposure.Reload {
		return ""
	}
	return ": POST /models/" + url.PathEscape(l.m.name) + "/load" + does
}

// refusal is the answer to a request whose model is not ready in time.
func (l *life) refusal(err error) error {
	var failed *failedError
	var full *loading.NoRoomError
	switch {
	case errors.As(err, &failed):
		return l.failed(failed.reason)
	case errors.As(err, &full):
		return &predict.NotReadyError{Reason: err.Error(), RetryAfter: time.Second}
	case errors.Is(err, context.DeadlineExceeded):
		return &predict.NotReadyError{
			Reason:     fmt.Sprintf("Model %s is still being loaded", l.m.name),
			RetryAfter: time.Second,
		}
	}
	return &predict.NotReadyError{
		Reason:     fmt.Sprintf("Model %s is not loaded: %v", l.m.name, err),
		RetryAfter: time.Second,
	}
}
