package httpd

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
)

// routeKey is the key of a request's route in its context.
type routeKey struct{}

// route is a route in metrics: its pattern, and what receives its requests.
type route struct {
	pattern string
	record  func(route, method string, code int, took time.Duration)
}

// routed wraps h and stores its route for record.
func (s *Server) routed(pattern string, record func(route, method string, code int, took time.Duration),
	h fasthttp.RequestHandler,
) fasthttp.RequestHandler {
	if record == nil {
		return h
	}
	var key, value any = routeKey{}, &route{pattern, record} // made once, so that a request does not allocate
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetUserValue(key, value)
		h(ctx)
	}
}

// reports reports whether requests are counted or logged.
func (s *Server) reports() bool { return s.opt.OnRequest != nil || s.out.Access != nil }

// report passes an answered request to OnRequest and the log.
func (s *Server) report(ctx *fasthttp.RequestCtx) {
	took := time.Since(ctx.Time())
	if s.out.Access != nil {
		s.out.Access.Note(ctx, took)
	}
	if s.opt.OnRequest == nil {
		return
	}
	pattern, record := "", s.opt.OnRequest
	if r, ok := ctx.UserValue(routeKey{}).(*route); ok {
		pattern, record = r.pattern, r.record
	}
	record(pattern, access.MethodName(ctx.Method()), ctx.Response.StatusCode(), took)
}

// MetricsHandler answers GET /metrics in the format that the client prefers.
func MetricsHandler(set interface {
	Write(accept string) (contentType string, body []byte)
},
) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		contentType, body := set.Write(string(ctx.Request.Header.Peek(fasthttp.HeaderAccept)))
		ctx.SetContentType(contentType)
		ctx.SetBody(body)
	}
}
