package slot

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// serve has a goroutine for each slot do with its requests what act says, until the front closes the slot or
// the worker dies; the channel is closed when all have ended.
func (w *fakeWorker) serve(act func(*line, request)) <-chan struct{} {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, l := range w.lines {
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

// hangUp ends a worker whose goroutines serve: they see the end, and only then are the sockets closed.
func (w *fakeWorker) hangUp(served <-chan struct{}) {
	for _, l := range w.lines {
		_ = unix.Shutdown(l.fd, unix.SHUT_RDWR) // fails where the front was first
	}
	<-served
	w.die()
}

// echo answers with what it was asked.
func echo(l *line, r request) {
	if l.claim(r.id) {
		l.word(atRunning).Store(0)
		_ = l.send(ipc.KindSucceeded, r.id, time.Microsecond, r.body) // fails where the front has closed the slot
	}
}
