package httpd

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

const (
	// batch is how many events are taken at once, where so many are there.
	batch = 256
	// flushAt is how many bytes are gathered, where so many are there, before they are written. JSON
	// of at least half of it is written from where it lies.
	flushAt = 64 << 10
	// chunkHead is the room for a chunk's size and its line's end, before the chunk's bytes.
	chunkHead = 16 + len("\r\n")
)

// errLeft: the client of a stream has gone, or takes nothing any more.
var errLeft = errors.New("the client has left")

// stream answers one client with the events of one prediction. It is the response's body: fasthttp calls
// WriteTo on the goroutine that serves the connection, and that goroutine waits for the events, renders
// what is there into one buffer and writes it to the connection itself, in one chunk and one call.
//
// It holds its prediction and its subscription until Close. Only that goroutine calls its methods, but
// for Cancel and poke.
type stream struct {
	s   *Server
	c   net.Conn
	p   *predict.Prediction
	sub *predict.Subscription
	run *run // nil: another request carries the prediction out

	chunked bool // HTTP/1.1; a client of HTTP/1.0 reads until the connection ends
	ended   bool // the last event was rendered
	closed  bool
	watched bool

	events []predict.Event
	buf    []byte // chunkHead bytes of room, then what is to be written
	tail   []byte // what stands after the JSON that a model made; empty between two events
	wrote  time.Time
	timer  *time.Timer // for the comments

	gone  atomic.Bool
	wake  chan struct{} // one token: look at gone, at run and at the clock
	ready bool          // events holds what is to be rendered next
}

// stream answers with p's events, and carries p out where r is given. It takes over sub and a hold on p.
func (k collection) stream(ctx *fasthttp.RequestCtx, p *predict.Prediction, sub *predict.Subscription, r *run) {
	st := &stream{
		s: k.Server, c: ctx.Conn(), p: p, sub: sub, run: r,
		chunked: ctx.Request.Header.IsHTTP11(),
		events:  make([]predict.Event, 0, batch),
		buf:     make([]byte, chunkHead, 4<<10),
		wrote:   time.Now(),
		wake:    make(chan struct{}, 1),
	}
	handed := false
	defer func() {
		if !handed {
			st.Close()
		}
	}()
	if c, ok := st.c.(*conn); ok && c.fd >= 0 {
		k.gone.add(&c.watch, st, ctx.Time())
		st.watched = true
	}
	st.timer = time.AfterFunc(k.opt.StreamComment, st.poke)
	if r != nil {
		r.start(st.poke) // of one that is refused after all there may be no event
		if err := st.first(); err != nil {
			k.refuse(ctx, err)
			return
		}
	} // else it is in flight, and the head need not wait: without a history the next event may be long in coming
	handed = true
	ctx.SetStatusCode(fasthttp.StatusOK)
	h := &ctx.Response.Header
	h.SetContentType(contentSSE)
	h.Set(fasthttp.HeaderCacheControl, "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the events else
	if st.chunked {
		ctx.Response.ImmediateHeaderFlush = true // also what lies before it, so that WriteTo may go around
		ctx.Response.SetBodyStream(st, -1)
		return
	}
	// fasthttp has no bodies without a length but chunked ones, which HTTP/1.0 does not know.
	h.SetContentLength(-2)
	head := append([]byte(nil), h.Header()...)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) { st.writeBare(head) })
}

// first waits for the first events of its own request's prediction, so that one that is refused after all can be
// answered so: the status goes out with the first of them, or in time for the first comment.
func (st *stream) first() error {
	var err error
	st.events, err = st.sub.Next(st.events, st.wake)
	switch {
	case err == nil:
		st.ready = true
		if st.events[0].Kind == predict.EventEnd {
			<-st.run.done
			return st.run.err
		}
	case errors.Is(err, predict.ErrStopped):
		st.poke() // whatever it was about, follow looks at it again
		if st.run.refused() {
			return st.run.err
		}
	}
	return nil // an error of another kind comes again
}

// WriteTo writes all events, each as soon as it is there.
func (st *stream) WriteTo(io.Writer) (int64, error) {
	defer st.Close()
	return 0, st.follow()
}

// SupportsBodyWriteTo lets fasthttp call WriteTo rather than Read (fasthttp.BodyWriterTo).
func (st *stream) SupportsBodyWriteTo() bool { return true }

// Read is never called.
func (st *stream) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// writeBare is the whole answer to a client of HTTP/1.0.
func (st *stream) writeBare(head []byte) {
	defer st.Close()
	defer func() {
		if v := recover(); v != nil {
			st.s.logPanic(v)
		}
	}()
	if c, ok := st.c.(*conn); ok {
		c.writeSet = time.Time{} // fasthttp has taken the deadlines away
	}
	if _, err := st.c.Write(head); err == nil {
		_ = st.follow() // the connection ends either way
	}
}

// follow writes the events until the last one. An error means that the connection must end.
func (st *stream) follow() error {
	for {
		if st.ready {
			st.ready = false
			if err := st.render(); err != nil {
				return err
			}
			if st.ended {
				return nil
			}
		}
		var err error
		st.events, err = st.sub.Next(st.events[:0], st.wake)
		var missed *predict.MissedError
		switch {
		case st.gone.Load():
			return errLeft
		case err == nil:
			st.ready = true
		case errors.Is(err, predict.ErrStopped):
			if err := st.awoken(); err != nil || st.ended {
				return err
			}
		case errors.As(err, &missed):
			st.buf = appendMissed(st.buf, missed)
			return st.flush()
		default: // io.EOF: it was told before
			return nil
		}
	}
}

// awoken looks at what a token may be about.
func (st *stream) awoken() error {
	if st.run != nil && st.run.refused() && !st.p.Record().Status.Terminal() {
		rec := st.p.Record()
		rec.Status, rec.Error = predict.Failed, st.run.err.Error()
		return st.complete(&rec)
	}
	silent := time.Since(st.wrote)
	if silent >= st.s.opt.StreamComment {
		st.buf = append(st.buf, comment...)
		if err := st.flush(); err != nil {
			return err
		}
		silent = 0
	}
	st.timer.Reset(st.s.opt.StreamComment - silent)
	return nil
}

// render writes the events that were taken.
func (st *stream) render() error {
	for i := range st.events {
		e := &st.events[i]
		switch e.Kind {
		case predict.EventStart:
			st.buf = appendStart(st.buf, st.p.ID())
		case predict.EventOutput:
			st.buf = append(st.buf, outputHead...)
			st.tail = appendOutputTail(st.tail, e.Index)
			if err := st.add(oneLine(e.Data)); err != nil {
				return err
			}
		case predict.EventLog:
			st.buf = appendLog(st.buf, e.Source, e.Data)
		case predict.EventMetric:
			st.buf = appendMetric(st.buf, e.Data)
		case predict.EventEnd:
			rec := st.p.Record()
			return st.complete(&rec)
		}
		if len(st.buf) >= flushAt {
			if err := st.flush(); err != nil {
				return err
			}
		}
	}
	return st.flush()
}

// complete writes the last event.
func (st *stream) complete(rec *predict.Record) error {
	st.ended = true
	st.buf = append(st.buf, completedHead...)
	st.buf = st.s.object.AppendHead(st.buf, rec)
	st.tail = append(st.s.object.AppendTail(st.tail, rec), eventTail...)
	if err := st.add(oneLine(rec.Output)); err != nil {
		return err
	}
	return st.flush()
}

// add appends JSON that a model made, and the tail. Where they are big they are written with all that lies
// before them, in one chunk, without a copy.
func (st *stream) add(json []byte) error {
	if len(json)+len(st.tail) >= flushAt/2 {
		return st.write(json)
	}
	st.buf = append(append(st.buf, json...), st.tail...)
	st.tail = st.tail[:0]
	return nil
}

// flush writes what was gathered.
func (st *stream) flush() error {
	if len(st.buf) == chunkHead {
		return nil
	}
	return st.write(nil)
}

// write writes what was gathered, json and the tail as one chunk, and begins the next one.
func (st *stream) write(json []byte) error {
	if st.gone.Load() {
		return errLeft
	}
	begin := chunkHead
	if st.chunked {
		begin = putChunkSize(st.buf, len(st.buf)-chunkHead+len(json)+len(st.tail))
		if len(json)+len(st.tail) > 0 {
			st.tail = append(st.tail, "\r\n"...)
		} else {
			st.buf = append(st.buf, "\r\n"...)
		}
	}
	for _, part := range [...][]byte{st.buf[begin:], json, st.tail} {
		if len(part) == 0 {
			continue
		}
		if _, err := st.c.Write(part); err != nil {
			return err
		}
	}
	st.wrote = time.Now()
	st.buf, st.tail = st.buf[:chunkHead], st.tail[:0]
	if cap(st.buf) > 4*flushAt { // logs and metrics of any size go through it
		st.buf = make([]byte, chunkHead, flushAt)
	}
	return nil
}

// putChunkSize writes a chunk's first line so that it ends where chunkHead does, and returns where it begins.
func putChunkSize(buf []byte, size int) int {
	var text [16]byte
	digits := strconv.AppendUint(text[:0], uint64(size), 16)
	begin := chunkHead - len("\r\n") - len(digits)
	copy(buf[begin:], digits)
	copy(buf[chunkHead-len("\r\n"):], "\r\n")
	return begin
}

// Close ends the subscription and lets go of the prediction. fasthttp calls it where it could not write
// even the header; else it has been called.
func (st *stream) Close() error {
	if st.closed {
		return nil
	}
	st.closed = true
	if st.timer != nil {
		st.timer.Stop()
	}
	if st.watched {
		st.s.gone.remove(&st.c.(*conn).watch)
	}
	st.sub.Close()
	st.p.Release()
	return nil
}

// Cancel is called when the client has left (see watcher). It does not wait: the stream's own goroutine
// ends the subscription, and a write that nobody takes is broken off.
func (st *stream) Cancel() {
	st.gone.Store(true)
	st.poke()
	if c, ok := st.c.(*conn); ok {
		c.abort()
	}
}

// poke makes the stream's goroutine look around, where it waits for events.
func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}
