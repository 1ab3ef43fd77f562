package slot

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// serve has a goroutine for each slot call act with its requests, until the front closes the slot or the worker dies.
// The channel is closed when all goroutines have ended.
func (w *fakeWorker) serve(act func(*slotEnd, request)) <-chan struct{} {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, l := range w.ends {
		wg.Go(func() {
			for {
				r, err := l.next()
				if err != nil {
					return
				}
				act(l, r)
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// disconnect ends a worker whose goroutines serve: its sockets are closed when they have ended.
func (w *fakeWorker) disconnect(served <-chan struct{}) {
	for _, l := range w.ends {
		_ = unix.Shutdown(l.fd, unix.SHUT_RDWR) // fails where the front was first
	}
	<-served
	w.die()
}

// echo answers with what it was asked.
func echo(l *slotEnd, r request) {
	if l.claim(r.id) {
		l.word(atRunning).Store(0)
		_ = l.send(ipc.KindSucceeded, r.id, time.Microsecond, r.body) // fails where the front has closed the slot
	}
}
