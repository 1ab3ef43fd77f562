package front

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"pinion/cmd/pinion/internal/interrupts"
	"pinion/runtime/predict"
)

// stop is what ends the server.
type stop struct {
	signals <-chan os.Signal  // watched from the start: the run folder is to be removed whenever one comes
	asked   chan struct{}     // a token: a client asked for a shutdown
	broken  chan *servedModel // a model whose first setup has failed, which is to end the server
	begun   atomic.Bool
}

// errStopping refuses new predictions while the server stops.
var errStopping = &predict.NotReadyError{Reason: "The server is shutting down"}

// lastWait is how long after their cancelling the last predictions may take, beyond the grace that a
// cancel itself has.
const lastWait = 5 * time.Second

func newStop(onlySIGINT bool) *stop {
	return &stop{signals: interrupts.Watch(onlySIGINT), asked: make(chan struct{}, 1), broken: make(chan *servedModel, 1)}
}

// ask ends the server as a client wants it. It does not block.
func (s *stop) ask() {
	select {
	case s.asked <- struct{}{}:
	default:
	}
}

// fail ends the server because of a model that cannot be set up. It does not block.
func (s *stop) fail(m *servedModel) {
	select {
	case s.broken <- m:
	default: // another one was first
	}
}

// await waits until something is done; false: a SIGINT has come before.
func (s *stop) await(done <-chan struct{}) bool {
	for {
		select {
		case <-done:
			return true
		case sig := <-s.signals:
			if sig == syscall.SIGINT {
				return false
			}
		}
	}
}

// drain ends the server in order: nothing more is taken in; what is in flight may finish within
// the grace (0: any time), then it is cancelled; the answers go out; the workers leave. A SIGINT
// meanwhile ends everything at once, also after a SIGTERM: false.
func (f *Server) drain(grace time.Duration) bool {
	f.models.stop()
	f.stop.begun.Store(true)
	for _, m := range f.models.everyone() {
		m.drain()
	}
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		f.answer(ctx)
	}()
	var late, last <-chan time.Time
	if grace > 0 {
		late = time.After(grace)
	}
	for finished := answered; finished != nil; {
		select {
		case <-finished:
			finished = nil
		case <-late:
			last = time.After(f.cancelAll() + lastWait)
		case <-last:
			giveUp()
		case sig := <-f.stop.signals:
			if sig == syscall.SIGINT {
				f.log.Warn("interrupted again: ending at once")
				f.stopWorkers(true)
				return false
			}
		}
	}
	for _, m := range f.models.everyone() {
		m.pool.Refuse(errStopping)
	}
	return f.stopWorkers(false) && f.deliver()
}

// answer waits until the requests and predictions in flight have ended, or ctx has.
func (f *Server) answer(ctx context.Context) {
	http, grpc := f.endpoints.shutdown(ctx)
	if grpc != nil {
		f.log.Warn("gRPC connections were closed with calls in flight", "error", grpc)
	}
	if http != nil {
		f.log.Warn("connections were closed with requests in flight", "error", http)
	}
	for f.inFlight() > 0 && ctx.Err() == nil { // again, for a prediction may call a model that was idle
		for _, m := range f.models.everyone() { // predictions without a connection that waits for them
			select {
			case <-m.svc.Idle():
			case <-ctx.Done():
			}
		}
	}
}

func (f *Server) inFlight() (n int) {
	for _, m := range f.models.everyone() {
		n += m.svc.InFlight()
	}
	return n
}

// cancelAll cancels what is in flight when the grace is over. It returns how long that may take.
func (f *Server) cancelAll() (grace time.Duration) {
	inFlight := 0
	for _, m := range f.models.everyone() {
		if m.queue != nil {
			m.queue.Release() // other servers run its jobs
		}
		inFlight += m.svc.InFlight()
		grace = max(grace, m.s.CancelGrace)
	}
	f.log.Warn("the grace is over: cancelling what is in flight", "predictions", inFlight)
	for _, m := range f.models.everyone() {
		m.svc.CancelAll()
	}
	return grace
}

// drain takes nothing more in.
func (m *servedModel) drain() {
	m.svc.Drain()
	m.life.close()
	if m.queue != nil {
		m.queue.Drain()
	}
	m.closeDashboard()
}

// deliver waits until the last webhooks are delivered or given up. A SIGINT meanwhile ends that: false.
func (f *Server) deliver() bool {
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		if err := f.webhooks.Drain(ctx); err != nil {
			f.log.Warn("webhooks were not delivered", "error", err)
		}
	}()
	ordered := f.stop.await(delivered)
	if !ordered {
		f.log.Warn("interrupted again: webhooks are not waited for")
	}
	return ordered
}

// stopWorkers makes the workers leave, at once or when they are done, and waits until they are gone. A SIGINT meanwhile
// kills them: false.
func (f *Server) stopWorkers(now bool) bool {
	f.models.stop()
	for _, m := range f.models.everyone() {
		m.life.close()
		m.workers.current().stop(now)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for _, m := range f.models.everyone() {
			m.workers.current().wait()
		}
	}()
	if f.stop.await(gone) {
		return true
	}
	if !now {
		f.log.Warn("interrupted again: ending at once")
		for _, m := range f.models.everyone() {
			m.workers.current().kill()
		}
	}
	<-gone
	return now
}
