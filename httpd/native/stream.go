package native

import (
	"cmp"
	"errors"
	"io"
	"sync"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Of events that are written without a wake-up: how many there may be, and how many bytes of JSON. More are a burst, for
// which the two goroutines work side by side.
const (
	maxDirect      = 8
	maxDirectBytes = 1 << 10
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
// While it waits, the goroutine that emits outputs writes them itself if they are few and the socket takes them: see
// TakeDirectly. So a token costs no goroutine's wake-up.
//
// It holds its prediction and its subscription until Close. Only that goroutine calls its methods, except Cancel,
// notify and TakeDirectly.
type stream struct {
	answers.Chunks
	out *answers.Writer
	p   *predict.Prediction
	sub *predict.Subscription
	run *Run // nil means another request runs the prediction

	to      protocol.EventRenderer // nil means the events are those of the native API
	spilled error                  // of a write within an event, if to is set
	written uint64                 // how many outputs were written, if to is set

	ended  bool // the last event was rendered
	events []predict.Event
	buffer *eventBuffer // of events

	wake  chan struct{} // one token: look at disconnected, at run and at the clock
	ready bool          // events holds what is to be rendered next

	// Held by the goroutine, except while it waits for events. Then the goroutine that emits them may write them.
	mu sync.Mutex
}

// Stream answers with p's events, in the form of another protocol if to is not nil, and runs p if r is not nil. It takes
// over sub and a hold on p. If p is refused, it writes nothing and returns the error.
func (k Collection) Stream(ctx *fasthttp.RequestCtx, p *predict.Prediction, sub *predict.Subscription, r *Run,
	to protocol.EventRenderer,
) error {
	buffer := eventBuffers.Get().(*eventBuffer)
	st := &stream{
		out: k.Out, p: p, sub: sub, run: r, to: to,
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
	st.mu.Lock()
	wake := st.wake // alone: Go's runtime may keep a stopped timer, and all that it refers to, for long
	st.Open(ctx, k.Out, st, func() { notify(wake) })
	if st.CanTry() {
		sub.Direct(st)
	}
	if r != nil {
		r.Start(st.notify) // a prediction that is refused may emit no event
		if err := st.first(); err != nil {
			return err
		}
	} // else it is in flight: the head does not wait for the next event, which may take long
	handed = true
	k.Out.SendEvents(ctx, st, negotiate.TypeEventStream)
	return nil
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
			return st.run.Err
		}
	case errors.Is(err, predict.ErrStopped):
		st.notify() // follow handles the wake-up again
		if st.run.refused() {
			return st.run.Err
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
		err := st.next()
		var missed *predict.MissedError
		switch {
		case st.Left():
			return answers.ErrDisconnected
		case err == nil:
			st.ready = true
		case errors.Is(err, predict.ErrStopped):
			if err := st.handleWake(); err != nil || st.ended {
				return err
			}
		case errors.As(err, &missed) && st.to != nil:
			rec := st.sub.CatchUp()
			st.addOutputs(rec.Output)
			if err := cmp.Or(st.spilled, st.Flush()); err != nil {
				return err
			}
		case errors.As(err, &missed):
			st.Buf = appendMissed(st.Buf, missed)
			return st.Flush()
		default: // io.EOF: the last event was written
			return nil
		}
	}
}

// next fills events, and waits if there are none. The error is that of Subscription.Next.
func (st *stream) next() (err error) {
	for {
		if st.events, err = st.sub.Take(st.events[:0]); err != nil || len(st.events) > 0 {
			return err
		}
		st.mu.Unlock()
		err = st.sub.Wait(st.wake)
		st.mu.Lock()
		if err := st.Finish(); err != nil || st.Left() {
			return cmp.Or(err, answers.ErrDisconnected)
		}
		if err != nil || st.ready {
			return err
		}
	}
}

// TakeDirectly writes new events while the goroutine waits for them. false means that the goroutine must do the rest.
func (st *stream) TakeDirectly() bool {
	if !st.mu.TryLock() {
		return false
	}
	defer st.mu.Unlock()
	if st.ready || st.Left() || !st.Finished() {
		return false
	}
	var err error
	st.events, err = st.sub.Take(st.events[:0])
	if err != nil || len(st.events) == 0 {
		return err == nil
	}
	if st.ready = !few(st.events); st.ready {
		return false
	}
	return st.append() == nil && st.TryFlush()
}

// few reports whether events may be written without the goroutine.
func few(events []predict.Event) bool {
	size := 0
	for i := range events {
		if events[i].Kind == predict.EventEnd {
			return false
		}
		size += len(events[i].Data)
	}
	return len(events) <= maxDirect && size <= maxDirectBytes
}

// handleWake handles a token: a refused run, or time for a comment.
func (st *stream) handleWake() error {
	if st.run != nil && st.run.refused() && !st.p.Record().Status.Terminal() {
		rec := st.p.Record()
		rec.Status, rec.Error = predict.Failed, st.run.Err.Error()
		return st.complete(&rec)
	}
	if !st.Silent() {
		return nil
	}
	st.Buf = append(st.Buf, answers.Comment...)
	return st.Flush()
}

// render writes the events in st.events.
func (st *stream) render() error { return cmp.Or(st.append(), st.Flush()) }

// append gathers the events in st.events, and writes when they are many bytes, or the last event.
func (st *stream) append() error {
	if st.to != nil {
		return st.appendTo()
	}
	for i := range st.events {
		e := &st.events[i]
		switch e.Kind {
		case predict.EventStart:
			st.Buf = appendStart(st.Buf, st.p.ID())
		case predict.EventOutput:
			st.Buf = append(st.Buf, outputHead...)
			st.Tail = appendOutputTail(st.Tail, e.Index)
			if err := st.Add(answers.OneLine(e.Data)); err != nil {
				return err
			}
		case predict.EventLog:
			st.Buf = appendLog(st.Buf, e.Source, e.Data)
		case predict.EventMetric:
			st.Buf = appendMetric(st.Buf, e.Data)
		case predict.EventEnd:
			rec := st.p.Record()
			return st.complete(&rec)
		}
		if len(st.Buf) >= answers.FlushAt {
			if err := st.Flush(); err != nil {
				return err
			}
		}
	}
	clear(st.events) // while the write lasts, they would keep memory that the record has left
	return nil
}

// complete writes the last event.
func (st *stream) complete(rec *predict.Record) error {
	st.ended = true
	if st.to != nil {
		return st.completeTo(rec)
	}
	st.Buf = append(st.Buf, completedHead...)
	st.Buf = st.out.Object.AppendHead(st.Buf, rec)
	st.Tail = append(st.out.Object.AppendTail(st.Tail, rec), eventTail...)
	if err := st.Add(answers.OneLine(rec.Output)); err != nil {
		return err
	}
	return st.Flush()
}

// Close ends the subscription and releases the prediction.
func (st *stream) Close() error {
	if st.End() {
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
	st.Disconnect()
	st.notify()
}

// notify wakes the stream's goroutine from its wait for events.
func (st *stream) notify() { notify(st.wake) }

func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// appendTo is append in the form of another protocol.
func (st *stream) appendTo() error {
	for i := range st.events {
		e := &st.events[i]
		switch e.Kind {
		case predict.EventOutput:
			st.Buf = st.to.Output(st.Buf, e.Data, st.spill)
			st.written++
		case predict.EventLog:
			st.Buf = st.to.Log(st.Buf, e.Data, st.spill)
		case predict.EventEnd:
			rec := st.p.Record()
			return st.complete(&rec)
		}
		if st.spilled != nil {
			return st.spilled
		}
	}
	clear(st.events)
	return nil
}

// spill is the flush of the renderer. After an error nothing more is written.
func (st *stream) spill(buf []byte) []byte {
	st.Buf = buf
	if len(buf) >= answers.FlushAt && st.spilled == nil {
		st.spilled = st.Flush()
	}
	if st.spilled != nil {
		st.Buf = st.Buf[:answers.ChunkHead]
	}
	return st.Buf
}

// addOutputs writes the items of a list that were not written: their events were dropped.
func (st *stream) addOutputs(list []byte) {
	for i, item := range rawjson.Items(list) {
		if uint64(i) == st.written {
			st.Buf = st.to.Output(st.Buf, item, st.spill)
			if st.written++; st.spilled != nil {
				return
			}
		}
	}
}

// completeTo writes what follows the last event.
func (st *stream) completeTo(rec *predict.Record) error {
	of := *rec // native streams have theirs on the stack
	if st.written > 0 || st.p.Yielded() {
		st.addOutputs(of.Output)
		if _, whole := st.to.(protocol.WholeRenderer); !whole {
			of.Output = nil
		}
	}
	st.Buf = st.to.End(st.Buf, &of, st.spill)
	return cmp.Or(st.spilled, st.Flush())
}
