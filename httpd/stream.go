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
	// maxEvents is how many events are rendered at once.
	maxEvents = 256
	// flushAt is how many bytes are gathered before they are written. JSON of at least half of it is written without a copy.
	flushAt = 64 << 10
	// chunkHead is the room for a chunk's size line, before the chunk's bytes.
	chunkHead = 16 + len("\r\n")
)

// errDisconnected: the client of a stream has disconnected, or no longer reads.
var errDisconnected = errors.New("the client has left")

// stream answers one client with the events of one prediction. It is the response's body: fasthttp calls WriteTo on the
// goroutine that serves the connection. That goroutine waits for events, renders all pending ones into one buffer and
// writes it to the connection as one chunk in one call.
//
// It holds its prediction and its subscription until Close. Only that goroutine calls its methods, except Cancel and notify.
type stream struct {
	s   *Server
	c   net.Conn
	p   *predict.Prediction
	sub *predict.Subscription
	run *run // nil: another request runs the prediction

	chunked bool // HTTP/1.1; an HTTP/1.0 client reads until the connection ends
	ended   bool // the last event was rendered
	closed  bool
	watched bool

	events []predict.Event
	buf    []byte // chunkHead bytes of room, then the bytes to write
	tail   []byte // what follows the model's JSON; empty between two events
	wrote  time.Time
	timer  *time.Timer // for the comments

	disconnected atomic.Bool
	wake         chan struct{} // one token: look at disconnected, at run and at the clock
	ready        bool          // events holds what is to be rendered next
}

// stream answers with p's events, and runs p if r is not nil. It takes over sub and a hold on p.
func (k collection) stream(ctx *fasthttp.RequestCtx, p *predict.Prediction, sub *predict.Subscription, r *run) {
	st := &stream{
		s: k.Server, c: ctx.Conn(), p: p, sub: sub, run: r,
		chunked: ctx.Request.Header.IsHTTP11(),
		events:  make([]predict.Event, 0, maxEvents),
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
		k.watcher.add(&c.watch, st, ctx.Time())
		st.watched = true
	}
	st.timer = time.AfterFunc(k.opt.StreamComment, st.notify)
	if r != nil {
		r.start(st.notify) // a prediction that is refused may emit no event
		if err := st.first(); err != nil {
			k.refuse(ctx, err)
			return
		}
	} // else it is in flight: the head does not wait for the next event, which may take long
	handed = true
	ctx.SetStatusCode(fasthttp.StatusOK)
	h := &ctx.Response.Header
	h.SetContentType(contentSSE)
	h.Set(fasthttp.HeaderCacheControl, "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would otherwise buffer the events
	if st.chunked {
		ctx.Response.ImmediateHeaderFlush = true // flushes earlier answers too, so that WriteTo may bypass the buffer
		ctx.Response.SetBodyStream(st, -1)
		return
	}
	// fasthttp sends a body without a length only in chunks, which HTTP/1.0 lacks.
	h.SetContentLength(-2)
	head := append([]byte(nil), h.Header()...)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) { st.writeBare(head) })
}

// first waits for the first events of its request's prediction, so that a refusal can still set the status. The status is
// sent with the first event, or in time for the first comment.
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
		st.notify() // follow handles the wake-up again
		if st.run.refused() {
			return st.run.err
		}
	}
	return nil // another error comes again
}

// WriteTo writes all events as they happen.
func (st *stream) WriteTo(io.Writer) (int64, error) {
	defer st.Close()
	return 0, st.follow()
}

// SupportsBodyWriteTo lets fasthttp call WriteTo rather than Read (fasthttp.BodyWriterTo).
func (st *stream) SupportsBodyWriteTo() bool { return true }

// Read is never called.
func (st *stream) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// writeBare writes the whole answer to an HTTP/1.0 client.
func (st *stream) writeBare(head []byte) {
	defer st.Close()
	defer func() {
		if v := recover(); v != nil {
			st.s.logPanic(v)
		}
	}()
	if c, ok := st.c.(*conn); ok {
		c.writeSet = time.Time{} // fasthttp has removed the deadlines
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
		case st.disconnected.Load():
			return errDisconnected
		case err == nil:
			st.ready = true
		case errors.Is(err, predict.ErrStopped):
			if err := st.handleWake(); err != nil || st.ended {
				return err
			}
		case errors.As(err, &missed):
			st.buf = appendMissed(st.buf, missed)
			return st.flush()
		default: // io.EOF: the last event was written
			return nil
		}
	}
}

// handleWake handles a token: a refused run, or time for a comment.
func (st *stream) handleWake() error {
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

// render writes the events in st.events.
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

// add appends a model's JSON and the tail. If they are large they are written without a copy, in one chunk with the bytes
// before them.
func (st *stream) add(json []byte) error {
	if len(json)+len(st.tail) >= flushAt/2 {
		return st.write(json)
	}
	st.buf = append(append(st.buf, json...), st.tail...)
	st.tail = st.tail[:0]
	return nil
}

// flush writes the gathered bytes.
func (st *stream) flush() error {
	if len(st.buf) == chunkHead {
		return nil
	}
	return st.write(nil)
}

// write writes the gathered bytes, json and the tail as one chunk, and begins the next one.
func (st *stream) write(json []byte) error {
	if st.disconnected.Load() {
		return errDisconnected
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
	if cap(st.buf) > 4*flushAt { // large logs and metrics grew it
		st.buf = make([]byte, chunkHead, flushAt)
	}
	return nil
}

// putChunkSize writes a chunk's size line so that it ends at chunkHead, and returns its offset.
func putChunkSize(buf []byte, size int) int {
	var text [16]byte
	digits := strconv.AppendUint(text[:0], uint64(size), 16)
	begin := chunkHead - len("\r\n") - len(digits)
	copy(buf[begin:], digits)
	copy(buf[chunkHead-len("\r\n"):], "\r\n")
	return begin
}

// Close ends the subscription and releases the prediction. fasthttp calls it if it could not write even the header; else
// WriteTo has called it.
func (st *stream) Close() error {
	if st.closed {
		return nil
	}
	st.closed = true
	if st.timer != nil {
		st.timer.Stop()
	}
	if st.watched {
		st.s.watcher.remove(&st.c.(*conn).watch)
	}
	st.sub.Close()
	st.p.Release()
	return nil
}

// Cancel is called when the client has disconnected (see watcher). It does not wait: it interrupts a blocked write, and the
// stream's goroutine ends the subscription.
func (st *stream) Cancel() {
	st.disconnected.Store(true)
	st.notify()
	if c, ok := st.c.(*conn); ok {
		c.abort()
	}
}

// notify wakes the stream's goroutine from its wait for events.
func (st *stream) notify() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}
