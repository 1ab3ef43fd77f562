package main

import (
	"sync"

	"github.com/valyala/fasthttp"

	"pinion/runtime/metrics"
	"pinion/runtime/service"
	"pinion/runtime/supervise"
)

// newMetrics makes the server's metrics, which look at the front whenever they are asked for.
func (f *front) newMetrics() *metrics.Set {
	return metrics.New(metrics.Options{
		Version: version,
		Model:   f.modelVersions,
		Load:    f.load,
		Workers: f.workersNow,
	})
}

// modelVersions is what build_info says of the model's side: nothing of Python before a worker has told it.
func (f *front) modelVersions() (python, cog string) {
	for _, w := range f.workers {
		if st := w.Status(); st.Python != "" {
			return st.Python, cogVersion
		}
	}
	return "", cogVersion
}

// load counts as waiting what is beyond the slots there are: most of it lies in a worker's socket, ahead of its turn.
func (f *front) load() metrics.Load {
	l := f.pool.Load()
	return metrics.Load{
		InFlight: l.InFlight, Queued: max(0, l.InFlight-l.Slots), Capacity: f.pool.Queue(), Slots: l.Slots,
	}
}

func (f *front) workersNow() []metrics.Worker {
	now := make([]metrics.Worker, len(f.workers))
	for i, w := range f.workers {
		st := w.Status()
		now[i] = metrics.Worker{State: st.State.String(), PID: st.PID}
		if setup := st.Setup; !setup.Completed.IsZero() {
			now[i].Setup = setup.Completed.Sub(setup.Started)
		}
	}
	return now
}

// serveMetrics answers GET /metrics.
func (f *front) serveMetrics(ctx *fasthttp.RequestCtx) {
	contentType, body := f.metrics.Write(string(ctx.Request.Header.Peek(fasthttp.HeaderAccept)))
	ctx.SetContentType(contentType)
	ctx.SetBody(body)
}

// observer tells the metrics of the ends of predictions. It implements service.Observer.
type observer struct{ *metrics.Set }

var _ service.Observer = observer{}

func (o observer) Ended(e service.End) { o.Set.Ended(metrics.End(e)) }

// attendance counts the comings and goings of one place's worker processes, from its statuses.
type attendance struct {
	set interface {
		WorkerStarted()
		WorkerExited(cause string)
	}

	mu   sync.Mutex
	last supervise.Status
}

// look is called after each change of the status, which it asks for itself: so that of two who look at the same
// moment neither has an older one than the other had.
func (a *attendance) look(status func() supervise.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, now := a.last, status()
	a.last = now
	if before.PID == now.PID {
		return
	}
	if before.PID != 0 {
		a.set.WorkerExited(causeOf(before.State, now.PID))
	}
	if now.PID != 0 {
		a.set.WorkerStarted()
	}
}

// causeOf is why a process ended that was in this state. One whose place another has taken without a gap was to
// leave.
func causeOf(state supervise.State, successor int) string {
	switch {
	case state == supervise.Draining || successor != 0:
		return metrics.ExitLeft
	case state == supervise.Ready:
		return metrics.ExitCrash
	default:
		return metrics.ExitSetup
	}
}
