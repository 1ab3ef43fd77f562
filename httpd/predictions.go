package httpd

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

// createPrediction takes a prediction in, waits for its end and answers with it.
func (s *Server) createPrediction(ctx *fasthttp.RequestCtx) {
	if !s.acceptable(ctx) {
		return
	}
	req, err := readEnvelope(takeBody(ctx), len(ctx.Request.Header.ContentType()) > 0)
	if err != nil {
		s.refuse(ctx, err)
		return
	}
	p, err := s.svc.Create(req)
	if err != nil {
		s.refuse(ctx, err)
		return
	}
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

// takeBody is the request's body for keeps: fasthttp reads the next request into the same memory.
func takeBody(ctx *fasthttp.RequestCtx) []byte {
	body := ctx.Request.Body()
	if len(body) > maxKept {
		return ctx.Request.SwapBody(nil)
	}
	return bytes.Clone(body)
}

// await carries p out, and cancels it where its client leaves meanwhile.
func (s *Server) await(ctx *fasthttp.RequestCtx, p *predict.Prediction) error {
	if c, ok := ctx.Conn().(*conn); ok && c.fd >= 0 {
		s.gone.add(&c.watch, p, ctx.Time())
		defer s.gone.remove(&c.watch)
	}
	return p.Wait()
}

// answer writes the prediction object and releases p when its record is not needed any more. A small
// object goes into the response's own buffer; a big one is streamed from the record, because a copy of
// it would double its memory for as long as the client takes to read it.
func (s *Server) answer(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	ctx.SetStatusCode(fasthttp.StatusOK)
	ctx.Response.Header.SetContentType(contentJSON)
	rec := p.Record()
	if rec.Status == predict.Failed {
		rec.Output = nil // what it yielded before is for streams and webhooks
	}
	if len(rec.Output)+len(rec.Error)+len(rec.Logs)+len(rec.Metrics) > maxKept {
		body := &pieces{release: p.Release}
		body.parts[0] = s.appendHead(nil, &rec)
		body.parts[1] = rec.Output
		body.parts[2] = s.appendTail(nil, &rec)
		ctx.Response.SetBodyStream(body, body.size())
		return
	}
	buf := s.appendHead(ctx.Response.SwapBody(nil)[:0], &rec)
	buf = append(buf, rec.Output...)
	buf = s.appendTail(buf, &rec)
	ctx.Response.SwapBody(buf)
	p.Release()
}

// seconds is how long the model had a prediction, as far as its record tells.
func seconds(rec *predict.Record) float64 {
	if rec.Started.IsZero() || rec.Completed.IsZero() {
		return 0
	}
	return max(0, rec.Completed.Sub(rec.Started)).Round(time.Microsecond).Seconds()
}
