package httpd

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// carryOut carries p out, which Create returned, and answers as its client asked. It releases p.
func (k collection) carryOut(ctx *fasthttp.RequestCtx, p *predict.Prediction, how asked) {
	if k.access != nil {
		ctx.SetUserValue(idKey{}, p.ID())
	}
	warn(ctx, p.Warnings)
	switch {
	case how.mode == predict.Stream:
		k.streamNew(ctx, p)
	case how.mode == predict.Async:
		defer p.Release()
		k.svc.Start(p)
		body := rawjson.AppendQuoted([]byte(`{"id":`), p.ID())
		body = append(body, `,"status":"starting"}`...)
		ctx.SetStatusCode(fasthttp.StatusAccepted)
		ctx.Response.Header.SetContentType(contentJSON)
		ctx.Response.SetBodyRaw(body)
	case how.bounded:
		k.answerWithin(ctx, p, how.wait)
	default:
		k.answerAtEnd(ctx, p)
	}
}

// streamNew follows p and carries it out.
func (k collection) streamNew(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	r := newRun(k.Server, p)
	sub, err := p.Subscribe() // before it runs, so that nothing is missed
	if err != nil {
		p.Cancel() // its place is taken, and only carrying it out gives that back
		r.start(nil)
		p.Release()
		k.refuse(ctx, err)
		return
	}
	k.stream(ctx, p, sub, r)
}

// answerAtEnd carries p out on this goroutine, and cancels it where its client leaves meanwhile.
func (s *Server) answerAtEnd(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	handed := false // to answer, which releases it
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

func (s *Server) await(ctx *fasthttp.RequestCtx, p *predict.Prediction) error {
	if c, ok := ctx.Conn().(*conn); ok && c.fd >= 0 {
		s.gone.add(&c.watch, p, ctx.Time())
		defer s.gone.remove(&c.watch)
	}
	return p.Wait()
}

// answerWithin answers with p's end, or after most with the state that there is, and then p goes on. While
// the client waits it may leave, which cancels p as it does where there is no bound.
func (s *Server) answerWithin(ctx *fasthttp.RequestCtx, p *predict.Prediction, most time.Duration) {
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
	s.object200(ctx, &rec, p)
	restate(ctx, fasthttp.StatusAccepted)
}

// restate gives an answer another status than 200, unless it was refused.
func restate(ctx *fasthttp.RequestCtx, status int) {
	if ctx.Response.StatusCode() == fasthttp.StatusOK {
		ctx.SetStatusCode(status)
	}
}

// ended waits until r has ended, at most that long, and tells whether it has.
func (s *Server) ended(ctx *fasthttp.RequestCtx, r *run, most time.Duration) bool {
	if c, ok := ctx.Conn().(*conn); ok && c.fd >= 0 {
		s.gone.add(&c.watch, r.p, ctx.Time())
		defer s.gone.remove(&c.watch)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}

// run is a prediction that a goroutine of its own carries out, because its request's has something else to
// do.
type run struct {
	s    *Server
	p    *predict.Prediction
	done chan struct{} // closed at its end
	err  error         // why it was refused after all; valid once done is closed
}

func newRun(s *Server, p *predict.Prediction) *run {
	return &run{s: s, p: p, done: make(chan struct{})}
}

// start begins to carry it out, and holds the prediction for as long as that takes. then, if any, is called
// when done is closed.
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
		r.err = r.p.Wait()
	}()
}

// refused tells whether it has ended with an error.
func (r *run) refused() bool {
	select {
	case <-r.done:
		return r.err != nil
	default:
		return false
	}
}

// errPanic: carrying a prediction out panicked. The log says where.
var errPanic = errors.New("panic while a prediction was carried out")

// answer writes the prediction object of one that has ended, which ctx asked for, and releases p when its record is not needed
// any more.
func (s *Server) answer(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	rec := p.Record()
	if rec.Status != predict.Succeeded {
		rec.Output = nil // what it yielded before is for streams and webhooks
	}
	if p.Request.WantFile {
		s.answerFile(ctx, &rec, p)
		return
	}
	s.object200(ctx, &rec, p)
}

// object200 answers with a prediction object. A small one goes into the response's own buffer; a big one
// is streamed from the record, because a copy of it would double its memory for as long as the client
// takes to read it. p is released when the record is not needed any more.
func (s *Server) object200(ctx *fasthttp.RequestCtx, rec *predict.Record, p *predict.Prediction) {
	ctx.SetStatusCode(fasthttp.StatusOK)
	ctx.Response.Header.SetContentType(contentJSON)
	if len(rec.Input)+len(rec.Output)+len(rec.Error)+len(rec.Logs)+len(rec.Metrics) > maxKept {
		body := new(pieces)
		body.parts[0] = s.object.AppendHead(nil, rec)
		body.parts[1] = rec.Output
		body.parts[2] = s.object.AppendTail(nil, rec)
		made := cap(body.parts[0]) + cap(body.parts[2]) // beside the record itself
		if !p.Afford(made) {
			p.Release()
			s.refuse(ctx, &roomError{int64(made), memory.ErrFull})
			return
		}
		body.release = func() {
			p.Refund(made)
			p.Release()
		}
		ctx.Response.SetBodyStream(body, body.size())
		return
	}
	ctx.Response.SwapBody(s.object.Append(ctx.Response.SwapBody(nil)[:0], rec))
	p.Release()
}
