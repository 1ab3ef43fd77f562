package httpd

import (
	"bytes"
	"log/slog"
	"runtime/debug"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

// maxKept is the largest buffer that stays with a connection from one request to the next, and the
// largest body that is copied rather than taken over.
const maxKept = 64 << 10

// routes makes the table of what there is.
func (s *Server) routes() fasthttp.RequestHandler {
	r := router.New()
	r.RedirectTrailingSlash = false // a path is right or it is 404: clients do not follow a POST's redirect
	r.RedirectFixedPath = false
	r.NotFound = s.notFound
	r.MethodNotAllowed = s.methodNotAllowed
	r.GlobalOPTIONS = s.options

	on := func(method, path string, h fasthttp.RequestHandler) { r.Handle(method, path, s.named(path, h)) }
	get := func(path string, h fasthttp.RequestHandler) {
		on(fasthttp.MethodGet, path, h)
		on(fasthttp.MethodHead, path, h) // fasthttp leaves the body away and keeps its length
	}
	get("/", s.discovery())
	get("/health-check", s.health)
	get("/openapi.json", s.openAPI)
	get("/livez", s.livez)
	get("/readyz", s.readyz)
	for path, h := range map[string]fasthttp.RequestHandler{"/docs": s.opt.Docs, "/metrics": s.opt.Metrics} {
		if h != nil {
			get(path, h)
		}
	}
	for _, k := range []collection{
		{s, predict.KindPrediction, "prediction", "Prediction"},
		{s, predict.KindTraining, "training", "Training"},
	} {
		path := "/" + k.noun + "s"
		on(fasthttp.MethodPost, path, k.create)
		on(fasthttp.MethodPut, path+"/{id}", k.put)
		get(path+"/{id}", k.get)
		on(fasthttp.MethodPost, path+"/{id}/cancel", k.cancel)
	}
	if !s.opt.NoShutdown {
		on(fasthttp.MethodPost, "/shutdown", s.shutdown)
	}
	if s.opt.Reload != nil {
		on(fasthttp.MethodPost, "/reload", s.reload)
	}
	return r.Handler
}

// handle is around every request.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	if s.reports() {
		defer s.report(ctx) // after recovered
	}
	defer s.recovered(ctx)
	c, counted := ctx.Conn().(*conn)
	last := counted && c.begin()
	if tooLarge(ctx) {
		s.refuse(ctx, fasthttp.ErrBodyTooLarge)
		return
	}
	switch {
	case s.cors != nil && s.cors.answer(ctx):
	case s.foreignPage(&ctx.Request.Header):
		s.refuseForeign(ctx)
	default:
		s.route(ctx)
	}
	s.finishBody(ctx)
	ctx.Request.ReleaseBody(maxKept)
	s.render(ctx)
	if last || s.closing.Load() {
		ctx.SetConnectionClose()
	}
}

func (s *Server) notFound(ctx *fasthttp.RequestCtx) {
	s.detail(ctx, fasthttp.StatusNotFound, "Not Found")
}

// trainingless tells whether a request is for trainings, and the model has none: then nothing is there,
// whatever the method.
func (s *Server) trainingless(ctx *fasthttp.RequestCtx) bool {
	const path = "/trainings"
	rest, ok := bytes.CutPrefix(ctx.Request.URI().PathOriginal(), []byte(path))
	return ok && (len(rest) == 0 || rest[0] == '/') && !s.svc.HasTraining()
}

func (s *Server) methodNotAllowed(ctx *fasthttp.RequestCtx) {
	if s.trainingless(ctx) {
		ctx.Response.Header.Del(fasthttp.HeaderAllow)
		s.notFound(ctx)
		return
	}
	s.detail(ctx, fasthttp.StatusMethodNotAllowed, "Method Not Allowed")
}

// options answers OPTIONS; the router has set Allow.
func (s *Server) options(ctx *fasthttp.RequestCtx) {
	if s.trainingless(ctx) {
		ctx.Response.Header.Del(fasthttp.HeaderAllow)
		s.notFound(ctx)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// recovered turns a panic into an answer. fasthttp has no such net: without this one request would
// end the process.
func (s *Server) recovered(ctx *fasthttp.RequestCtx) {
	r := recover()
	if r == nil {
		return
	}
	s.logPanic(r, slog.String("method", methodName(ctx.Method())), slog.String("path", predict.Clip(string(ctx.Path()))))
	ctx.Response.Reset()
	ctx.SetConnectionClose()
	s.detail(ctx, fasthttp.StatusInternalServerError, "Internal Server Error")
}

// logPanic is called where a panic was recovered.
func (s *Server) logPanic(v any, about ...any) {
	s.log.With(about...).Error("panic in a request", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}
