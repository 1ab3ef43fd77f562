package native

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/answers"
	"pinion/httpd/body"
	"pinion/httpd/transport"
	"pinion/runtime/request"
	"pinion/runtime/trace"
)

// Front is what the routes of all models of a server share.
type Front struct {
	Out    *answers.Writer
	Bodies *body.Reader
	// StreamIdle is how long a streamed input may be without an item.
	StreamIdle time.Duration
	// Tracer traces predictions, trainings and cancels; nil means nothing is traced.
	Tracer *trace.Tracer
	// TenantHeader is the header that names a request's tenant; "" means all are of one.
	TenantHeader string
}

// traceKey is the key of a request's trace in its context.
type traceKey struct{}

// Meta reads what a request says in its headers about how it is to be carried out, in each protocol.
func (f *Front) Meta(ctx *fasthttp.RequestCtx) (m request.Meta, err error) {
	traced := f.Tracer != nil
	if transport.HasSeen(ctx, transport.SeenMeta) || f.TenantHeader != "" {
		m, err = request.ReadMeta(f.TenantHeader, traced, ctx.Request.Header.PeekAll)
	}
	if traced {
		m.Trace, _ = ctx.UserValue(traceKey{}).(*trace.Trace)
	}
	return m, err
}

// Traced wraps the handler of a route that is traced.
func (f *Front) Traced(path string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	if f.Tracer == nil {
		return h
	}
	describe := func(method string) (name string, attrs trace.Attrs) {
		return method + " " + path, trace.Attrs{}.Text("http.request.method", method).Text("http.route", path)
	}
	post, attrs := describe(fasthttp.MethodPost)
	return func(ctx *fasthttp.RequestCtx) {
		t := f.Tracer.Begin(func(name string) string {
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

// Sampled reports whether spans of a request are sent.
func Sampled(ctx *fasthttp.RequestCtx) bool {
	t, _ := ctx.UserValue(traceKey{}).(*trace.Trace)
	return t != nil && t.Sampled
}
