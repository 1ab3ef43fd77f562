package httpd

import (
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// answers writes the answers of a server.
type answers struct {
	opt       *Options
	log       *slog.Logger
	transport *transport.Transport
	access    *access.Log     // nil means off
	object    predict.Encoder // writes prediction objects

	deflaters deflaters
}

// respond answers with a prediction, as its client asked.
func (k collection) respond(ctx *fasthttp.RequestCtx, placed place.Placed) {
	p, how := placed.Prediction, placed.How
	switch placed.State {
	case place.Made:
		k.s.out.announce(ctx, p.ID(), p.Warnings)
		k.respondNew(ctx, p, how)
	case place.Followed:
		k.stream(ctx, p, placed.Events, nil)
	case place.Known:
		if placed.Joined {
			k.s.out.writeObject(ctx, placed.Record, p)
		} else {
			k.answerKept(ctx, p, placed.Record)
		}
		if placed.Joined || how.Kind == predict.Async {
			restate(ctx, fasthttp.StatusAccepted)
		}
	default:
		k.s.out.announce(ctx, placed.Accepted.ID, placed.Accepted.Warnings)
		k.s.out.answerQueued(ctx, placed)
		if !placed.Ended {
			restate(ctx, fasthttp.StatusAccepted)
		}
	}
}

// announce notes the id of a request's prediction for the log, and adds warnings to the answer.
func (s *answers) announce(ctx *fasthttp.RequestCtx, id string, warnings []string) {
	s.access.Named(ctx, id)
	warn(ctx, warnings)
}

// answerQueued answers with the object of a prediction that the queue has.
func (s *answers) answerQueued(ctx *fasthttp.RequestCtx, placed place.Placed) {
	body := placed.Accepted.Object
	if body == nil {
		body = startingObject(placed.Accepted.ID)
	}
	sendObject(ctx, body, placed.Accepted.Release)
}

// respondNew runs p, answers in the mode that the client asked for, and releases p.
func (k collection) respondNew(ctx *fasthttp.RequestCtx, p *predict.Prediction, how negotiate.Mode) {
	switch {
	case how.Kind == predict.Stream:
		k.streamNew(ctx, p)
	case how.Kind == predict.Async:
		defer p.Release()
		p.Start()
		answerJSON(ctx, fasthttp.StatusAccepted, startingObject(p.ID()))
	case how.Bounded:
		k.s.out.answerWithin(ctx, p, how.Wait)
	default:
		k.s.out.answerAtEnd(ctx, p)
	}
}

// answerKept answers with a prediction that is retained or in flight, and takes over the hold on it.
func (k collection) answerKept(ctx *fasthttp.RequestCtx, p *predict.Prediction, rec *predict.Record) {
	if rec.Status == predict.Succeeded && negotiate.Rendered(&ctx.Request.Header, true) == negotiate.AsFile {
		k.s.out.answerFile(ctx, rec, p)
	} else {
		k.s.out.writeObject(ctx, rec, p)
	}
}

// startingObject returns the prediction object of one that has not begun.
func startingObject(id string) []byte {
	const begin, end = `{"id":`, `,"status":"starting"}`
	// longer only for an id that is escaped
	object := append(make([]byte, 0, len(begin)+len(`""`)+len(id)+len(end)), begin...)
	return append(rawjson.AppendQuoted(object, id), end...)
}

// streamNew subscribes to p and runs it.
func (k collection) streamNew(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	r := newRun(k.s.out, p)
	sub, err := p.Subscribe() // before it runs, so that no event is missed
	if err != nil {
		p.Cancel() // only a run gives its slot back
		r.start(nil)
		p.Release()
		k.s.out.refuse(ctx, err)
		return
	}
	k.stream(ctx, p, sub, r)
}

// answerAtEnd runs p on this goroutine, and cancels it if the client disconnects.
func (s *answers) answerAtEnd(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	handed := false // answer releases p
	defer func() {
		if !handed {
			p.Release()
		}
	}()
	if err := s.await(ctx, p); err != nil {
		s.refuse(ctx, err)
		return
	}
	handed = true
	s.answer(ctx, p)
}

func (s *answers) await(ctx *fasthttp.RequestCtx, p *predict.Prediction) error {
	defer s.transport.Unwatch(s.transport.Watch(ctx, p))
	return p.Run()
}

// answerWithin answers with p's result, or after most with its current state; p then continues. If the client
// disconnects while it waits, p is canceled.
func (s *answers) answerWithin(ctx *fasthttp.RequestCtx, p *predict.Prediction, most time.Duration) {
	r := newRun(s, p)
	r.start(nil)
	if s.ended(ctx, r, most) {
		if r.err != nil {
			p.Release()
			s.refuse(ctx, r.err)
			return
		}
		s.answer(ctx, p)
		return
	}
	rec := p.Record()
	s.writeObject(ctx, &rec, p)
	restate(ctx, fasthttp.StatusAccepted)
}

// restate replaces the status of an answer, unless it is a refusal.
func restate(ctx *fasthttp.RequestCtx, status int) {
	if ctx.Response.StatusCode() == fasthttp.StatusOK {
		ctx.SetStatusCode(status)
	}
}

// ended waits up to most for the end of r, and reports whether it has ended.
func (s *answers) ended(ctx *fasthttp.RequestCtx, r *run, most time.Duration) bool {
	defer s.transport.Unwatch(s.transport.Watch(ctx, r.p))
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}

// run is a prediction that a separate goroutine runs, because the request's goroutine streams or waits with a limit.
type run struct {
	s    *answers
	p    *predict.Prediction
	done chan struct{} // closed at its end
	err  error         // why it was refused; valid once done is closed
}

func newRun(s *answers, p *predict.Prediction) *run {
	return &run{s: s, p: p, done: make(chan struct{})}
}

// start starts the run, and holds the prediction until its end. then, if not nil, is called after done is closed.
func (r *run) start(then func()) {
	r.p.Hold()
	go func() {
		defer r.p.Release()
		defer func() {
			if v := recover(); v != nil {
				r.s.logPanic(v)
				r.err = errPanic
			}
			close(r.done)
			if then != nil {
				then()
			}
		}()
		r.err = r.p.Run()
	}()
}

// refused reports whether it has ended with an error.
func (r *run) refused() bool {
	select {
	case <-r.done:
		return r.err != nil
	default:
		return false
	}
}

// errPanic means that the run of a prediction panicked. The log has the stack.
var errPanic = errors.New("panic while a prediction was carried out")

// answer writes the prediction object of an ended prediction, and releases p after the last use of its record.
func (s *answers) answer(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	rec := p.Record()
	if rec.Status != predict.Succeeded {
		rec.Output = nil // items of a failed prediction go only to streams and webhooks
	}
	if p.Request.WantFile {
		s.answerFile(ctx, &rec, p)
		return
	}
	s.writeObject(ctx, &rec, p)
}

// writeObject answers with a prediction object. A small one goes into the response's buffer. A large one is streamed
// from the record, because a copy would double its memory while the client reads. It releases p after the last use of
// the record.
func (s *answers) writeObject(ctx *fasthttp.RequestCtx, rec *predict.Record, p *predict.Prediction) {
	ctx.SetStatusCode(fasthttp.StatusOK)
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	if len(rec.Input)+len(rec.Output)+len(rec.Error)+len(rec.Logs)+len(rec.Metrics) > maxReused {
		body := new(sliceBody)
		body.parts[0] = s.object.AppendHead(nil, rec)
		body.parts[1] = rec.Output
		body.parts[2] = s.object.AppendTail(nil, rec)
		body.made = cap(body.parts[0]) + cap(body.parts[2]) // besides the record
		body.release = p.Release
		ctx.Response.SetBodyStream(body, body.size())
		return
	}
	ctx.Response.SwapBody(s.object.Append(ctx.Response.SwapBody(nil)[:0], rec))
	p.Release()
}

// sendObject answers with a prediction object. release, if not nil, is called after its last use.
func sendObject(ctx *fasthttp.RequestCtx, object []byte, release func()) {
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	if len(object) <= maxReused || release == nil { // a small one is not charged
		ctx.Response.SetBodyRaw(object)
		if release != nil {
			release()
		}
		return
	}
	ctx.Response.SetBodyStream(&sliceBody{parts: [3][]byte{object}, release: release}, len(object))
}
