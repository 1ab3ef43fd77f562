package httpd

import (
	"context"
	"time"

	"github.com/valyala/fasthttp"
)

// healthBound is how long the model's own check may take, by the HTTP contract.
const healthBound = 5 * time.Second

// health always answers 200: the state is in the body.
func (s *Server) health(ctx *fasthttp.RequestCtx) {
	bound, cancel := context.WithTimeout(context.Background(), healthBound)
	defer cancel()
	h := s.svc.Health(bound)
	if !s.authorized(&ctx.Request.Header) {
		h = withoutDetails(h)
	}
	s.encodeSeldom(ctx, fasthttp.StatusOK, h)
}

func (s *Server) openAPI(ctx *fasthttp.RequestCtx) {
	doc, ok := s.svc.OpenAPI()
	if !ok {
		literal(ctx, fasthttp.StatusServiceUnavailable, `{"error":"OpenAPI schema not available"}`)
		return
	}
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.Response.SetBodyRaw(doc)
}

// shutdown answers before anything ends, because Shutdown waits for the requests in flight.
func (s *Server) shutdown(ctx *fasthttp.RequestCtx) {
	if !s.opt.ShutdownFromAny && !local(ctx) {
		s.detail(ctx, fasthttp.StatusForbidden, "Only a program on the server's own machine may shut it down, and not through a proxy. "+
			"To allow every client that, start the server with --shutdown-from any")
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
	s.svc.Shutdown()
}

// livez tells that the server answers, and that it is not beyond help.
func (s *Server) livez(ctx *fasthttp.RequestCtx) {
	if err := s.svc.Defunct(); err != nil {
		s.detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
}

// readyz tells whether predictions are taken, or why not.
func (s *Server) readyz(ctx *fasthttp.RequestCtx) {
	if err := s.svc.Ready(); err != nil {
		s.detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
}
