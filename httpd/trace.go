package httpd

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/trace"
)

// traceKey is the key of a request's trace in its context.
type traceKey struct{}

// traced wraps the handler of a route that is traced.
func (s *Server) traced(path string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	if s.opt.Tracer == nil {
		return h
	}
	post := fasthttp.MethodPost + " " + path
	return func(ctx *fasthttp.RequestCtx) {
		t := s.opt.Tracer.Begin(func(name string) string { return string(bytes.Join(ctx.Request.Header.PeekAll(name), []byte{','})) })
		if t == nil {
			h(ctx)
			return
		}
		method, name := fasthttp.MethodPost, post
		if !ctx.IsPost() {
			method = methodName(ctx.Method())
			name = method + " " + path
		}
		root := t.New()
		t.Server = root.Span
		ctx.SetUserValue(traceKey{}, t)
		h(ctx)
		if !t.Sampled {
			return
		}
		code, g := ctx.Response.StatusCode(), t.Group()
		span := g.Add(root, name, trace.SpanID{}, ctx.Time(), time.Now(), append(g.Attrs(),
			trace.Text("http.request.method", method), trace.Text("http.route", path), trace.Int("http.response.status_code", int64(code))))
		span.Kind, span.Failed = trace.Server, code >= fasthttp.StatusInternalServerError
		g.Send()
	}
}
