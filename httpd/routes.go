package httpd

import (
	"log/slog"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/answers"
	"pinion/httpd/body"
	"pinion/httpd/host"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/logtext"
)

// monitoring adds the routes for monitoring.
func (t routeTable) monitoring() {
	t.shared = true
	t.probes()
	t.get("/metrics", t.a.s.opt.Metrics)
	t.dashboard()
}

func (s *Server) routes() *router.Router {
	r := s.root.routes()
	r.monitoring()
	r.shared = true
	r.get("/", s.root.discovery())
	if s.opt.Shutdown != nil {
		r.on(fasthttp.MethodPost, "/shutdown", s.root.shutdown)
	}
	if s.opt.Models != nil {
		r.get(pathModels, s.listModels)
		r.get(pathModel, s.showModel)
		r.router.ANY(pathModel+"/{rest:*}", s.routeModel) // asked after the routes of the method
	}
	if s.protocols != nil {
		s.protocols.add(r, true)
		r.router.NotFound = s.protocols.router.Handler
	}
	return r.router
}

// handle wraps every request.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	if s.reports() {
		defer s.report(ctx) // after recovered
	}
	defer s.recovered(ctx)
	access.EchoRequestID(ctx)
	c, counted := ctx.Conn().(*transport.Conn)
	last := counted && c.Begin()
	unescapePath(ctx)
	if tooLarge(ctx) {
		s.refuseTooLarge(ctx)
		return
	}
	if done, refused := s.guard.Check(ctx); refused != nil {
		s.refuseError(ctx, refused)
	} else if !done {
		s.route(ctx)
	}
	body.Finish(ctx)
	ctx.Request.ReleaseBody(answers.MaxReused)
	if err := answers.Hold(ctx, c); err != nil && !s.protocols.refuseFor(ctx, protocol.ErrorOf(err)) {
		s.out.Refuse(ctx, err)
	}
	if !s.opt.jobs {
		s.out.Render(ctx)
	}
	if last || s.transport.Closing() {
		ctx.SetConnectionClose()
	}
}

// malformed answers a request that fasthttp could not parse. fasthttp then closes the connection.
func (s *Server) malformed(ctx *fasthttp.RequestCtx, err error) {
	if s.reports() {
		defer s.report(ctx) // no handler runs
	}
	access.EchoRequestID(ctx)
	s.out.Malformed(ctx, err)
}

// headerTooLarge marks a request whose body is too large. A client that sends it only gets its own request refused.
const headerTooLarge = "Pinion-Body-Too-Large"

// headerReceived runs before a request's body is read. fasthttp starts to read a body, or answers 100 Continue, before
// a handler can refuse it. So headerReceived hides a body that is too large, and handle refuses the request.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if int64(h.ContentLength()) > s.opt.MaxBody {
		h.Del(fasthttp.HeaderExpect)
		h.SetContentLength(0)
		h.Set(headerTooLarge, "1")
	}
	return fasthttp.RequestConfig{}
}

// tooLarge reports whether headerReceived found the request's body too large.
func tooLarge(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return h.ContentLength() == 0 && ctx.RequestBodyStream() != nil && len(h.Peek(headerTooLarge)) > 0
}

// refuseTooLarge answers a request whose body is too large to be read.
func (s *Server) refuseTooLarge(ctx *fasthttp.RequestCtx) {
	if s.protocols.refuseFor(ctx, host.TooLarge(s.out)) {
		body.Leave(ctx)
		return
	}
	s.out.Refuse(ctx, fasthttp.ErrBodyTooLarge)
}

// recovered turns a panic into an answer. Without it, one request could end the process: fasthttp does not recover.
func (s *Server) recovered(ctx *fasthttp.RequestCtx) {
	r := recover()
	if r == nil {
		return
	}
	s.out.LogPanic(r, slog.String("method", access.MethodName(ctx.Method())),
		slog.String("path", logtext.Clip(string(ctx.Path()))))
	ctx.Response.Reset()
	access.EchoRequestID(ctx)
	ctx.SetConnectionClose()
	s.out.Detail(ctx, fasthttp.StatusInternalServerError, "Internal Server Error")
}
