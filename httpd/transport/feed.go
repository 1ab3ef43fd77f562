package transport

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"
)

// errFeedStopped means that the rest of a request is not wanted any more.
var errFeedStopped = errors.New("the rest of the request is not read")

// feed reads a request while it is answered, in a goroutine of its own, from Watch to Unwatch. A client that disconnects
// is found by its read; the watcher does not know the connection.
type feed struct {
	c        *Conn
	run      func(stop <-chan struct{}) (whole bool)
	target   Canceler
	stopping chan struct{} // closed: the rest is not wanted any more
	done     chan struct{}
}

// Feed has run read the rest of a request while it is answered: Watch starts it, and Unwatch ends its reads. run reports
// whether the request has come whole; if not, the client has disconnected. Once stop is closed
// it returns. The connection ends with the answer. false means that the connection is not of this transport.
func (t *Transport) Feed(ctx *fasthttp.RequestCtx, run func(stop <-chan struct{}) (whole bool)) bool {
	c, ok := ctx.Conn().(*Conn)
	if !ok {
		return false
	}
	ctx.SetConnectionClose()
	c.Linger()
	c.watch.feed = &feed{c: c, run: run, stopping: make(chan struct{}), done: make(chan struct{})}
	return true
}

// ReadWithin sets how long the next read may wait.
func (c *Conn) ReadWithin(d time.Duration) { c.begun, c.readWanted = false, c.t.now()+d }

func (f *feed) start(target Canceler) {
	f.target = target
	go func() {
		defer close(f.done)
		if f.run(f.stopping) {
			var rest [1 << 10]byte
			f.c.ReadWithin(1 << 50) // until the client disconnects, or the answer ends
			for _, err := f.c.read(rest[:]); err == nil; {
				_, err = f.c.read(rest[:])
			}
		}
		if f.stopped() == nil {
			f.target.Cancel()
		}
	}()
}

// stop ends the reads, and waits for the goroutine.
func (f *feed) stop() {
	close(f.stopping)
	_ = f.c.Conn.SetReadDeadline(time.Unix(1, 0))
	<-f.done
	f.c.watch.feed = nil
}

// stopped reports whether a read has to return, after its deadline was set.
func (f *feed) stopped() error {
	if f == nil {
		return nil
	}
	select {
	case <-f.stopping:
		return errFeedStopped
	default:
		return nil
	}
}
