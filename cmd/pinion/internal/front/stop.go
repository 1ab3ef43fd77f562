package front

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// drain ends the server in order: nothing more is taken in; what is in flight may finish within
// the grace (0: any time), then it is cancelled; the answers go out; the workers leave. A SIGINT
// meanwhile ends everything at once, also after a SIGTERM: false.
func (f *Server) drain(grace time.Duration) bool {
	f.svc.Drain()
	if f.queue != nil {
		f.queue.Drain()
	}
	f.closeDashboard()
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		var closed sync.WaitGroup
		closed.Go(func() {
			if err := f.grpc.shutdown(ctx); err != nil {
				f.log.Warn("gRPC connections were closed with calls in flight", "error", err)
			}
		})
		if err := f.http.Shutdown(ctx); err != nil {
			f.log.Warn("connections were closed with requests in flight", "error", err)
		}
		closed.Wait()
		select { // predictions without a connection that waits for them
		case <-f.svc.Idle():
		case <-ctx.Done():
		}
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
			if f.queue != nil {
				f.queue.Release() // other servers run its jobs
			}
			f.log.Warn("the grace is over: cancelling what is in flight", "predictions", f.svc.InFlight())
			f.svc.CancelAll()
			last = time.After(f.s.CancelGrace + lastWait)
		case <-last:
			giveUp()
		case sig := <-f.signals:
			if sig == syscall.SIGINT {
				f.log.Warn("interrupted again: ending at once")
				f.stopWorkers(true)
				return false
			}
		}
	}
	f.pool.Refuse(errStopping)
	return f.stopWorkers(false) && f.deliver()
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
	for {
		select {
		case <-delivered:
			return true
		case sig := <-f.signals:
			if sig == syscall.SIGINT {
				f.log.Warn("interrupted again: webhooks are not waited for")
				return false
			}
		}
	}
}

// stopWorkers makes the workers leave, at once or when they are done, and waits until they are gone. A SIGINT meanwhile
// kills them: false.
func (f *Server) stopWorkers(now bool) bool {
	f.preloader.Close()
	for _, w := range f.workers {
		if now {
			w.Kill()
		} else {
			w.Stop()
		}
	}
	ordered := true
	for _, w := range f.workers {
		for exited := false; !exited; {
			select {
			case <-w.Done():
				exited = true
			case sig := <-f.signals:
				if sig == syscall.SIGINT && ordered && !now {
					ordered = false
					f.log.Warn("interrupted again: ending at once")
					f.killWorkers()
				}
			}
		}
	}
	return ordered
}

func (f *Server) killWorkers() {
	for _, w := range f.workers {
		w.Kill()
	}
}
