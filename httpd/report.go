package httpd

import (
	"time"

	"github.com/valyala/fasthttp"
)

// routeKey is where a request's context has the pattern of its route.
type routeKey struct{}

// named is h, and lets OnRequest know of its route.
func (s *Server) named(route string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	if s.opt.OnRequest == nil {
		return h
	}
	var key, value any = routeKey{}, route // made once: a request allocates nothing for it
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetUserValue(key, value)
		h(ctx)
	}
}

// reports tells whether anybody wants to know of requests.
func (s *Server) reports() bool { return s.opt.OnRequest != nil || s.access != nil }

// report tells OnRequest and the log of a request that was answered.
func (s *Server) report(ctx *fasthttp.RequestCtx) {
	took := time.Since(ctx.Time())
	if s.access != nil {
		s.access.note(ctx, took)
	}
	if s.opt.OnRequest == nil {
		return
	}
	route, _ := ctx.UserValue(routeKey{}).(string)
	s.opt.OnRequest(route, methodName(ctx.Method()), ctx.Response.StatusCode(), took)
}

// methodName is one of a few constants: clients must not be able to make names.
func methodName(method []byte) string {
	for _, known := range [...]string{
		fasthttp.MethodPost, fasthttp.MethodGet, fasthttp.MethodPut, fasthttp.MethodHead, fasthttp.MethodOptions,
		fasthttp.MethodDelete, fasthttp.MethodPatch,
	} {
		if string(method) == known {
			return known
		}
	}
	return "OTHER"
}
