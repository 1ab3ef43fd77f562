package native

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/runtime/predict"
)

// Run is a prediction that a separate goroutine runs, because the request's goroutine streams or waits with a limit.
type Run struct {
	out  *answers.Writer
	p    *predict.Prediction
	done chan struct{} // closed at its end
	Err  error         // why it was refused; valid once done is closed
}

// NewRun returns a run that has not started.
func NewRun(out *answers.Writer, p *predict.Prediction) *Run {
	return &Run{out: out, p: p, done: make(chan struct{})}
}

// Start starts the run, and holds the prediction until its end. then, if not nil, is called after done is closed.
func (r *Run) Start(then func()) {
	r.p.Hold()
	go func() {
		defer r.p.Release()
		defer func() {
			if v := recover(); v != nil {
				r.out.LogPanic(v)
				r.Err = errPanic
			}
			close(r.done)
			if then != nil {
				then()
			}
		}()
		r.Err = r.p.Run()
	}()
}

// refused reports whether it has ended with an error.
func (r *Run) refused() bool {
	select {
	case <-r.done:
		return r.Err != nil
	default:
		return false
	}
}

// errPanic means that the run of a prediction panicked. The log has the stack.
var errPanic = errors.New("panic while a prediction was carried out")

// EndsWithin waits up to most for the end of the run, and reports whether it has ended. If the client disconnects meanwhile, the prediction is canceled.
func (r *Run) EndsWithin(ctx *fasthttp.RequestCtx, most time.Duration) bool {
	defer r.out.Transport.Unwatch(r.out.Transport.Watch(ctx, r.p))
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}
