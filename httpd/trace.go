package httpd

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/transport"
	"pinion/runtime/trace"
)

// traceKey is the key of a request's trace in its context.
type traceKey struct{}

// traced wraps the handler of a route that is traced.
func (s *Server) traced(path string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	if s.opt.Tracer == nil {
		return h
	}
	describe := func(method string) (name string, attrs trace.Attrs) {
		return method + " " + path, trace.Attrs{}.Text("http.request.method", method).Text("http.route", path)
	}
	post, attrs := describe(fasthttp.MethodPost)
	return func(ctx *fasthttp.RequestCtx) {
		t := s.opt.Tracer.Begin(func(name string) string {
			if name == trace.ParentHeader && !transport.HasSeen(ctx, transport.SeenTraceParent) {
				return ""
			}
			return string(bytes.Join(ctx.Request.Header.PeekAll(name), []byte{','}))
		})
		if t == nil {
			h(ctx)
			return
		}
		name, attrs := post, attrs
		if !ctx.IsPost() {
			name, attrs = describe(methodName(ctx.Method()))
		}
		root := t.New()
		t.Server = root.Span
		ctx.SetUserValue(traceKey{}, t)
		h(ctx)
		if !t.Sampled {
			return
		}
		code, g := ctx.Response.StatusCode(), t.Group()
		span := g.Add(root, name, trace.SpanID{}, ctx.Time(), time.Now(),
			append(g.Attrs(), attrs...).Int("http.response.status_code", int64(code)))
		span.Kind, span.Failed = trace.Server, code >= fasthttp.StatusInternalServerError
		g.Send()
	}
}
