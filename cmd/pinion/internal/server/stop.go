package server

import (
	"cmp"
	"context"
	"sync/atomic"
	"syscall"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/predict"
)

// stop is what ends the server.
type stop struct {
	signals process.Interrupts // watched from the start: the run folder is to be removed whenever one comes
	asked   chan struct{}      // a token: a client asked for a shutdown
	broken  chan *servedModel  // a model whose first setup has failed, which is to end the server
	refused chan error         // why NATS refused the server, which is to end it
	begun   atomic.Bool
}

// errStopping refuses new predictions while the server stops.
var errStopping = &predict.NotReadyError{Reason: "The server is shutting down"}

const (
	// lastTry is how long the workers, the last webhooks and the job queue have at least, when predictions took all of
	// the grace.
	lastTry = 2 * time.Second
	// workCheckInterval is how often a stop without a limit looks whether a model still works.
	workCheckInterval = 250 * time.Millisecond
)

func newStop(onlySIGINT bool) *stop {
	return &stop{
		signals: process.WatchInterrupts(onlySIGINT), asked: make(chan struct{}, 1),
		broken: make(chan *servedModel, 1), refused: make(chan error, 1),
	}
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

// refuse ends the server because NATS refuses it. It does not block.
func (s *stop) refuse(err error) {
	select {
	case s.refused <- err:
	default: // another one was first
	}
}

// drain ends the server in order: nothing more is taken in; what is in flight may finish within the grace (0: any
// time), then it is cancelled; the answers go out; the workers leave; the last webhooks are delivered; the job queue is
// left. No client, receiver or other process holds it beyond the grace and that of cancels. A SIGINT meanwhile ends
// everything at once, also after a SIGTERM: false.
func (f *Server) drain(grace time.Duration) bool {
	begun := time.Now()
	f.models.stop()
	f.stop.begun.Store(true)
	for _, m := range f.models.every() {
		m.drain()
	}
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		f.answer(ctx)
	}()
	late := f.whenLate(ctx, grace)
	var canceled, last <-chan time.Time
	for finished := answered; finished != nil; {
		select {
		case <-finished:
			finished = nil
		case <-late:
			f.cancelAll()
			canceled = time.After(f.models.cancelGrace())
		case <-canceled:
			if f.models.inFlight() == 0 { // only clients who do not read their answers
				giveUp()
			}
			last = time.After(modelhost.CancelWait)
		case <-last:
			giveUp()
		case sig := <-f.stop.signals:
			if sig == syscall.SIGINT {
				f.log.Warn("interrupted again: ending at once")
				f.stopWorkers(true, nil)
				return false
			}
		}
	}
	for _, m := range f.models.every() {
		m.Pool.Refuse(errStopping)
	}
	if grace == 0 && canceled == nil { // the work has just ended
		begun = time.Now()
	}
	retried := begun.Add(f.outsiderGrace())
	soonest := time.Now().Add(lastTry)
	end := latest(retried.Add(f.models.cancelGrace()), soonest)
	// Nothing is left to cancel in the workers, so only the webhooks have the grace of cancels too.
	return f.stopWorkers(false, time.After(time.Until(latest(retried, soonest)))) && f.leave(retried, end)
}

// whenLate fires when what is in flight has had its time: the grace; with 0, when for that long only clients, uploads
// and downloads were waited for, and no model worked.
func (f *Server) whenLate(ctx context.Context, grace time.Duration) <-chan time.Time {
	if grace > 0 {
		return time.After(grace)
	}
	late := make(chan time.Time, 1)
	go func() {
		ticker := time.NewTicker(workCheckInterval)
		defer ticker.Stop()
		for worked := time.Now(); ; {
			select {
			case now := <-ticker.C:
				if f.models.working() {
					worked = now
				} else if now.Sub(worked) >= f.outsiderGrace() {
					late <- now
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return late
}

// outsiderGrace returns how long a stop waits for what is not the model's work.
func (f *Server) outsiderGrace() time.Duration { return cmp.Or(f.s.Grace, config.DefaultGrace) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
	for f.models.inFlight() > 0 && ctx.Err() == nil { // again, because a prediction may call a model that was idle
		for _, m := range f.models.every() { // predictions without a connection that waits for them
			select {
			case <-m.Service.Idle():
			case <-ctx.Done():
			}
		}
	}
}

// cancelAll cancels what is in flight when the grace is over.
func (f *Server) cancelAll() {
	inFlight := 0
	for _, m := range f.models.every() {
		m.releaseJobs()
		inFlight += m.Service.InFlight()
	}
	f.log.Warn("the grace period is over: canceling the predictions in flight", "predictions", inFlight)
	for _, m := range f.models.every() {
		m.Service.CancelAll()
	}
}

// drain takes nothing more in.
func (m *servedModel) drain() {
	m.Drain()
	m.drainQueue()
	m.closeDashboard()
}

// leave waits until the last webhooks are delivered and the job queue is left, or gives them up. Webhooks are retried
// until one time, and tried for the last time until the other. A SIGINT meanwhile ends that: false.
func (f *Server) leave(retried, end time.Time) bool {
	left := make(chan struct{})
	go func() {
		defer close(left)
		f.deliver(retried, end)
		ctx, cancel := context.WithDeadline(context.Background(), latest(end, time.Now().Add(lastTry)))
		defer cancel()
		for _, m := range f.models.every() {
			m.leaveQueue(ctx)
		}
	}()
	ordered := f.stop.signals.Await(left)
	if !ordered {
		f.log.Warn("interrupted again: webhooks are not waited for")
	}
	return ordered
}

// deliver waits until the last webhooks are delivered or given up. The end of a job is stored in the queue after its
// webhooks.
func (f *Server) deliver(retried, end time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	hasten := time.AfterFunc(time.Until(retried), f.webhooks.Hasten)
	defer hasten.Stop()
	if f.webhooks.Drain(ctx) != nil {
		f.log.Warn("the server stops: webhooks that their receivers have not accepted are given up", "predictions",
			f.webhooks.Pending())
	}
	f.webhooks.Close()
}

// stopWorkers makes the workers leave, at once or when they are done, and waits until they are gone. At the end of the
// time, and at a SIGINT, it kills them; false means at a SIGINT.
func (f *Server) stopWorkers(now bool, end <-chan time.Time) bool {
	f.models.stop()
	for _, m := range f.models.every() {
		m.StopWorkers(now)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		for _, m := range f.models.every() {
			m.WaitWorkers()
		}
	}()
	kill := func() {
		for _, m := range f.models.every() {
			m.KillWorkers()
		}
	}
	late := make(chan struct{})
	go func() {
		select {
		case <-end:
			f.log.Warn("the time of the stop is over: killing the workers that have not ended")
			kill()
		case <-exited:
		}
		close(late)
	}()
	if f.stop.signals.Await(exited) {
		<-late
		return true
	}
	if !now {
		f.log.Warn("interrupted again: ending at once")
		kill()
	}
	<-exited
	return now
}
