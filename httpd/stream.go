package httpd

import (
	"cmp"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// maxEvents is how many events are rendered at once.
const maxEvents = 64

// eventBuffer holds the events of one turn.
type eventBuffer [maxEvents]predict.Event

// eventBuffers are those of streams that have ended: each takes 16 KiB.
var eventBuffers = sync.Pool{New: func() any { return new(eventBuffer) }}

// stream answers one client with the events of one prediction. It is the response's body: fasthttp calls WriteTo on the
// goroutine that serves the connection. That goroutine waits for events, renders all pending ones into one buffer and
// writes it to the connection as one chunk in one call.
//
// It holds its prediction and its subscription until Close. Only that goroutine calls its methods, except Cancel and
// notify.
type stream struct {
	chunkWriter
	s   *Server
	p   *predict.Prediction
	sub *predict.Subscription
	run *run // nil means another request runs the prediction

	to      protocol.EventRenderer // nil means the events are those of the native API
	spilled error                  // of a write within an event, if to is set
	written uint64                 // how many outputs were written, if to is set

	ended  bool // the last event was rendered
	events []predict.Event
	buffer *eventBuffer // of events

	wake  chan struct{} // one token: look at disconnected, at run and at the clock
	ready bool          // events holds what is to be rendered next
}

// stream answers with p's events, and runs p if r is not nil. It takes over sub and a hold on p.
func (k collection) stream(ctx *fasthttp.RequestCtx, p *predict.Prediction, sub *predict.Subscription, r *run) {
	k.streamTo(ctx, p, sub, r, nil)
}

// streamTo is stream in the form of another protocol, if to is not nil.
func (k collection) streamTo(ctx *fasthttp.RequestCtx, p *predict.Prediction, sub *predict.Subscription, r *run,
	to protocol.EventRenderer,
) {
	buffer := eventBuffers.Get().(*eventBuffer)
	st := &stream{
		chunkWriter: k.s.out.newChunkWriter(ctx),
		s:           k.s, p: p, sub: sub, run: r, to: to,
		events: buffer[:0],
		buffer: buffer,
		wake:   make(chan struct{}, 1),
	}
	handed := false
	defer func() {
		if !handed {
			st.Close()
		}
	}()
	st.watched = k.s.transport.Watch(ctx, st)
	wake := st.wake // alone: Go's runtime may keep a stopped timer, and all that it refers to, for long
	st.timer = time.AfterFunc(k.s.opt.StreamComment, func() { notify(wake) })
	if r != nil {
		r.start(st.notify) // a prediction that is refused may emit no event
		if err := st.first(); err != nil {
			k.s.out.refuse(ctx, err)
			return
		}
	} // else it is in flight: the head does not wait for the next event, which may take long
	handed = true
	k.s.out.sendEvents(ctx, st, negotiate.TypeEventStream)
}

// first waits for the first events of its request's prediction, so that a refusal can still set the status. The status
// is sent with the first event, or in time for the first comment.
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
		case errors.As(err, &missed) && st.to != nil:
			rec := st.sub.CatchUp()
			st.addOutputs(rec.Output)
			if err := cmp.Or(st.spilled, st.flush()); err != nil {
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
	if !st.silent(st.s.opt.StreamComment) {
		return nil
	}
	st.buf = append(st.buf, comment...)
	return st.flush()
}

// render writes the events in st.events.
func (st *stream) render() error {
	if st.to != nil {
		return st.renderTo()
	}
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
	clear(st.events) // while the write lasts, they would keep memory that the record has left
	return st.flush()
}

// complete writes the last event.
func (st *stream) complete(rec *predict.Record) error {
	st.ended = true
	if st.to != nil {
		return st.completeTo(rec)
	}
	st.buf = append(st.buf, completedHead...)
	st.buf = st.s.out.object.AppendHead(st.buf, rec)
	st.tail = append(st.s.out.object.AppendTail(st.tail, rec), eventTail...)
	if err := st.add(oneLine(rec.Output)); err != nil {
		return err
	}
	return st.flush()
}

// Close ends the subscription and releases the prediction.
func (st *stream) Close() error {
	if st.close(st.s.transport) {
		st.sub.Close()
		st.p.Release()
		clear(st.buffer[:]) // they refer to what the model has yielded
		eventBuffers.Put(st.buffer)
		st.events, st.buffer = nil, nil
	}
	return nil
}

// Cancel is called when the client has disconnected; see Transport.Watch. It does not wait: it interrupts a blocked
// write, and the stream's goroutine ends the subscription.
func (st *stream) Cancel() {
	st.disconnected.Store(true)
	st.notify()
	st.abort()
}

// notify wakes the stream's goroutine from its wait for events.
func (st *stream) notify() { notify(st.wake) }

func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
