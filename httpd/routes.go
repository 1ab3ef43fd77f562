package httpd

import (
	"log/slog"
	"runtime/debug"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// maxKept is the largest buffer that stays with a connection from one request to the next, and the
// largest body that is copied rather than taken over.
const maxKept = 64 << 10

// routes makes the table of what there is.
func (s *Server) routes() fasthttp.RequestHandler {
	r := router.New()
	r.RedirectTrailingSlash = false // a path is right or it is 404: clients do not follow a POST's redirect
	r.RedirectFixedPath = false
	r.NotFound = func(ctx *fasthttp.RequestCtx) { s.detail(ctx, fasthttp.StatusNotFound, "Not Found") }
	r.MethodNotAllowed = func(ctx *fasthttp.RequestCtx) {
		s.detail(ctx, fasthttp.StatusMethodNotAllowed, "Method Not Allowed")
	}
	r.GlobalOPTIONS = func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusNoContent) }

	get := func(path string, h fasthttp.RequestHandler) {
		r.GET(path, h)
		r.HEAD(path, h) // fasthttp leaves the body away and keeps its length
	}
	get("/", s.discovery())
	get("/health-check", s.health)
	get("/openapi.json", s.openAPI)
	r.POST("/predictions", s.createPrediction)
	r.POST("/predictions/{id}/cancel", s.cancelPrediction)
	r.POST("/shutdown", s.shutdown)
	return r.Handler
}

// handle is around every request.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	defer s.recovered(ctx)
	s.route(ctx)
	ctx.Request.ReleaseBody(maxKept)
	if s.closing.Load() {
		ctx.SetConnectionClose()
	}
}

// recovered turns a panic into an answer. fasthttp has no such net: without this one request would
// end the process.
func (s *Server) recovered(ctx *fasthttp.RequestCtx) {
	r := recover()
	if r == nil {
		return
	}
	s.log.Error("panic in a request", slog.Any("panic", r),
		slog.String("method", string(ctx.Method())), slog.String("path", string(ctx.Path())),
		slog.String("stack", string(debug.Stack())))
	ctx.Response.Reset()
	ctx.SetConnectionClose()
	s.detail(ctx, fasthttp.StatusInternalServerError, "Internal Server Error")
}
