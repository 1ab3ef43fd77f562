package httpd

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/transport"
	"pinion/runtime/request"
	"pinion/runtime/trace"
)

// traceKey is the key of a request's trace in its context.
type traceKey struct{}

// meta reads what a request says in its headers about how it is to be carried out, whatever its protocol.
func (s *Server) meta(ctx *fasthttp.RequestCtx) (m request.Meta, err error) {
	traced := s.opt.Tracer != nil
	if transport.HasSeen(ctx, transport.SeenMeta) || s.opt.TenantHeader != "" {
		m, err = request.ReadMeta(s.opt.TenantHeader, traced, ctx.Request.Header.PeekAll)
	}
	if traced {
		m.Trace, _ = ctx.UserValue(traceKey{}).(*trace.Trace)
	}
	return m, err
}

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
			name, attrs = describe(access.MethodName(ctx.Method()))
		}
		root := t.New()
		t.Server = root.Span
		ctx.SetUserValue(traceKey{}, t)
		h(ctx)
		if !t.Sampled {
			return
		}
		code, g := ctx.Response.StatusCode(), t.Group()
		g.Add(&trace.Span{
			Context: root, Name: name, Kind: trace.Server, Start: ctx.Time().UnixNano(), End: time.Now().UnixNano(),
			Attrs:  append(g.Attrs(), attrs...).Int("http.response.status_code", int64(code)),
			Failed: code >= fasthttp.StatusInternalServerError,
		})
		g.Send()
	}
}
