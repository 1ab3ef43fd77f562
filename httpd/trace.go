package httpd

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// traceKey is the key of a request's trace in its context.
type traceKey struct{}

// traced wraps the handler of a route that is traced.
func (s *Server) traced(path string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	if s.opt.Tracer == nil {
		return h
	}
	return func(ctx *fasthttp.RequestCtx) {
		t := s.opt.Tracer.Begin(func(name string) string { return string(bytes.Join(ctx.Request.Header.PeekAll(name), []byte{','})) })
		if t == nil {
			h(ctx)
			return
		}
		method := methodName(ctx.Method())
		span := t.Span(method+" "+path, trace.Server, trace.SpanID{}, ctx.Time(),
			trace.Text("http.request.method", method), trace.Text("http.route", path))
		t.Server = span.Context.Span
		ctx.SetUserValue(traceKey{}, t)
		h(ctx)
		code := ctx.Response.StatusCode()
		span.Attrs = append(span.Attrs, trace.Int("http.response.status_code", int64(code)))
		if code >= fasthttp.StatusInternalServerError {
			span.Failed = true
		}
		t.End(span, time.Now())
	}
}

// traceRequest gives a request its trace. Its context replaces the client's.
func (s *Server) traceRequest(ctx *fasthttp.RequestCtx, req *predict.Request) {
	req.Trace, _ = ctx.UserValue(traceKey{}).(*trace.Trace)
	req.TraceParent, req.TraceState = "", ""
}
