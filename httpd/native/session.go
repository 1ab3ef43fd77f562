package native

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/transport"
	"pinion/ipc/bufpool"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

const (
	sessionPath = "stream"
	pingEvery   = 20 * time.Second
)

// session is a prediction whose client speaks with it over a WebSocket. One goroutine reads its messages, and another, on
// which it was begun, writes the events.
type session struct {
	k    Collection
	c    *transport.Conn
	wire *wire
	ws   *websocket.Conn
	meta request.Meta

	in    predict.Inlet
	first chan firstMessage
	begun chan struct{} // closed when p is set, or never will be

	mu       sync.Mutex
	p        *predict.Prediction // nil until it is made
	canceled bool                // by the client
	fault    *closing            // what the client has done wrong, or nil

	left atomic.Bool   // the client has
	ping atomic.Bool   // one is due
	wake chan struct{} // a token: look at these

	// The message that is being made: up to the model's JSON, what follows that, and what ends it.
	text, after, last []byte
	start             [512]byte // of the message that is being read
}

// firstMessage is the request.
type firstMessage struct {
	text    []byte
	charged int64
}

// closing is how a session ends.
type closing struct {
	code   int
	reason string
}

// Converse answers a request for a WebSocket, and carries the session out.
func (k Collection) Converse(ctx *fasthttp.RequestCtx) {
	asked, wrong := handshake(ctx)
	if wrong != "" {
		ctx.Response.Header.Set("Sec-WebSocket-Version", "13")
		k.Out.Detail(ctx, fasthttp.StatusBadRequest, "Not a WebSocket handshake: "+wrong)
		return
	}
	s := &session{
		k: k, first: make(chan firstMessage), begun: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	var err error
	if s.meta, err = k.Meta(ctx); err == nil {
		c, _ := ctx.Conn().(*transport.Conn)
		err = c.ChargeInUse(&ctx.Request.Header)
	}
	if err != nil {
		k.Out.Refuse(ctx, err)
		return
	}
	k.Out.Transport.Switch(ctx, func(c *transport.Conn, ahead []byte) {
		defer c.Close()
		defer k.Out.LogRecovered()
		c.Linger()
		s.c, s.wire = c, &wire{Conn: c, ahead: ahead, idle: k.StreamIdle, in: &s.in}
		up := upgrader()
		up.Subprotocols = []string{protocolName}
		if s.ws, err = up.Upgrade(hijacked{wire: s.wire}, asked, nil); err != nil {
			return
		}
		defer c.ReadAside(s.read, s)()
		end := s.converse()
		if !s.left.Load() {
			_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(end.code, clip(end.reason)), time.Time{})
		}
	})
}

// clip shortens the text of a close frame.
func clip(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	n := maxReason - len("…")
	for !utf8.RuneStart(reason[n]) {
		n--
	}
	return reason[:n] + "…"
}

// converse carries the session out, and returns how it ends.
func (s *session) converse() closing {
	req := place.Request{Memory: s.k.Bodies.Memory}
	defer req.Discard()
	p, err := s.begin(&req)
	if err != nil {
		return s.refuse(&req, err)
	}
	run := NewRun(s.k.Out, p)
	sub, err := p.Subscribe()
	if err != nil {
		p.Cancel()
		run.Start(nil)
		p.Release()
		return s.refuse(&req, err)
	}
	defer p.Release()
	defer sub.Close()
	s.last = append(rawjson.AppendQuoted([]byte(`,"id":`), p.ID()), '}')
	run.Start(s.notify)
	return s.follow(p, sub, run)
}

// begin makes the prediction of the first message.
func (s *session) begin(req *place.Request) (*predict.Prediction, error) {
	defer close(s.begun)
	select {
	case m := <-s.first:
		read := body.New(m.text, m.charged, nil, s.k.Bodies.Memory)
		if err := req.ReadJSON(&read, true); err != nil {
			return nil, err
		}
	case <-s.wake: // it is left, or faulty
		return nil, answers.ErrDisconnected
	case <-s.c.Stop():
		return nil, errStopping
	}
	s.meta.For(&req.Request)
	req.Kind, req.How, req.Inlet = s.k.kind, negotiate.Mode{Kind: predict.Stream}, &s.in
	req.Mode, req.AnyStream = predict.Stream, true
	placed, err := s.k.placer.Place(req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.p = placed.Prediction
	canceled := s.canceled
	s.mu.Unlock()
	if canceled {
		placed.Prediction.Cancel()
	}
	return placed.Prediction, nil
}

// errStopping means that the server stops before the request has come.
var errStopping = &predict.NotReadyError{Reason: "The server stops"}

// refuse sends the end of a session without a prediction.
func (s *session) refuse(req *place.Request, err error) closing {
	if s.left.Load() {
		return closing{}
	}
	refusal := predict.RefusalOf(err)
	end := closing{closeCode(err), err.Error()}
	if fault := s.faultNow(); fault != nil {
		end = *fault
	}
	if refusal.RetryAfter > 0 {
		end.reason = fmt.Sprintf("try again in %d s: %s", (refusal.RetryAfter+time.Second-1)/time.Second, end.reason)
	}
	if errors.Is(err, errStopping) {
		end.code = websocket.CloseGoingAway
	}
	_ = s.complete(&predict.Record{ID: req.ID, Progress: predict.Progress{Status: predict.Failed, Error: end.reason}})
	return end
}

// follow writes the events until the last one, and returns how the session ends.
func (s *session) follow(p *predict.Prediction, sub *predict.Subscription, run *Run) closing {
	timer := time.AfterFunc(pingEvery, func() { s.ping.Store(true); s.notify() })
	defer timer.Stop()
	none := make(chan struct{})
	close(none)
	var one [1]predict.Event
	for {
		events, err := sub.Next(one[:0], s.wake)
		var missed *predict.MissedError
		switch {
		case s.left.Load():
			return closing{}
		case err == nil:
			if err = s.write(p, events, sub, none); errors.Is(err, io.EOF) {
				rec := p.Record()
				return s.end(&rec)
			}
			clear(one[:])
		case errors.As(err, &missed):
			s.open("error")
			s.text = appendMissedData(s.text, missed)
			_ = s.send(nil)
			return closing{websocket.ClosePolicyViolation, err.Error()}
		case run.refused() && !p.Record().Status.Terminal():
			rec := p.Record()
			rec.Status, rec.Error = predict.Failed, run.Err.Error()
			end := s.end(&rec)
			_ = s.complete(&rec)
			if s.faultNow() == nil {
				end.code = closeCode(run.Err)
			}
			return end
		case s.ping.Swap(false):
			timer.Reset(pingEvery)
			err = s.ws.WriteControl(websocket.PingMessage, nil, time.Time{})
		default:
			err = nil
		}
		if err != nil {
			return closing{}
		}
	}
}

// write writes events, and those that are there behind them. io.EOF means that the last one was written.
func (s *session) write(p *predict.Prediction, events []predict.Event, sub *predict.Subscription,
	none <-chan struct{},
) (err error) {
	buffer := eventBuffers.Get().(*eventBuffer)
	s.text = bufpool.Get(bufpool.Min)[:0]
	s.wire.hold()
	defer func() {
		err = cmp.Or(s.wire.release(), err)
		clear(buffer[:])
		eventBuffers.Put(buffer)
		bufpool.Put(s.text)
		s.text, s.after = nil, nil
	}()
	for len(events) > 0 {
		for i := range events {
			if err := s.render(p, &events[i]); err != nil {
				return err
			}
		}
		events, _ = sub.Next(buffer[:0], none) // an error comes again
	}
	return nil
}

// render writes an event.
func (s *session) render(p *predict.Prediction, e *predict.Event) error {
	switch e.Kind {
	case predict.EventStart:
		s.open("start")
		s.text = appendStartData(s.text, p.ID())
	case predict.EventOutput:
		if s.in.YieldsBytes {
			return s.binary(e.Data)
		}
		s.open("output")
		s.text = append(s.text, `{"chunk":`...)
		s.after = appendIndex(s.after, e.Index)
		return s.send(e.Data)
	case predict.EventLog:
		s.open("log")
		s.text = appendLogData(s.text, e.Source, e.Data)
	case predict.EventMetric:
		s.open("metric")
		return s.send(e.Data)
	case predict.EventEnd:
		rec := p.Record()
		return cmp.Or(s.complete(&rec), io.EOF)
	}
	return s.send(nil)
}

// end returns how a session ends whose prediction has.
func (s *session) end(rec *predict.Record) closing {
	fault := s.faultNow()
	switch {
	case fault != nil:
		return *fault
	case rec.Status != predict.Succeeded && s.k.Out.Transport.Closing():
		return closing{websocket.CloseGoingAway, "the server stops"}
	case rec.Reason == predict.ReasonCrash:
		return closing{websocket.CloseInternalServerErr, rec.Error}
	case rec.Reason == predict.ReasonTimeout || rec.Reason == predict.ReasonMemory:
		return closing{websocket.ClosePolicyViolation, rec.Error}
	}
	return closing{websocket.CloseNormalClosure, rec.Error}
}

// complete writes the last event.
func (s *session) complete(rec *predict.Record) error {
	s.last = append(rawjson.AppendQuoted([]byte(`,"id":`), rec.ID), '}')
	s.open("completed")
	s.text = s.k.Out.Object.AppendHead(s.text, rec)
	s.after = s.k.Out.Object.AppendTail(s.after, rec)
	return s.send(rec.Output)
}

// open begins a text message with an event.
func (s *session) open(name string) {
	s.text = append(append(append(s.text[:0], `{"event":"`...), name...), `","data":`...)
	s.after = s.after[:0]
}

// send writes the message with the model's JSON in it, which is not copied if it is large.
func (s *session) send(json []byte) error {
	size := len(s.text) + len(json) + len(s.after)
	s.ws.EnableWriteCompression(size >= minCompressed)
	if size < answers.FlushAt/2 {
		s.text = append(append(append(s.text, json...), s.after...), s.last...)
		return s.ws.WriteMessage(websocket.TextMessage, s.text)
	}
	w, err := s.ws.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	for _, part := range [...][]byte{s.text, json, s.after, s.last} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return w.Close()
}

// binary writes a binary message with the bytes that a JSON string has in base64.
func (s *session) binary(item []byte) error {
	encoded := item[1 : len(item)-1]
	s.ws.EnableWriteCompression(false)
	if len(encoded) < answers.FlushAt/2 {
		s.text = s.text[:0]
		text, err := base64.StdEncoding.AppendDecode(s.text, encoded)
		s.text = text
		return cmp.Or(err, s.ws.WriteMessage(websocket.BinaryMessage, text))
	}
	w, err := s.ws.NextWriter(websocket.BinaryMessage)
	if err != nil {
		return err
	}
	const step = 8 << 10 // a multiple of 4
	for ; len(encoded) > 0 && err == nil; encoded = encoded[min(step, len(encoded)):] {
		if s.text, err = base64.StdEncoding.AppendDecode(s.text[:0], encoded[:min(step, len(encoded))]); err == nil {
			_, err = w.Write(s.text)
		}
	}
	return cmp.Or(err, w.Close())
}

func (s *session) notify() { notify(s.wake) }

// Cancel is called when the client has left.
func (s *session) Cancel() {
	s.left.Store(true)
	s.c.Abort()
	s.notify()
}

func (s *session) faultNow() *closing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}
