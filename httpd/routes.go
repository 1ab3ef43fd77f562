package httpd

import (
	"bytes"
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

// routeTable maps methods and paths to handlers.
type routeTable struct {
	a      *api
	router *router.Router
	others bool // the routes are those of the other protocols
	shared bool // the routes are not the model's but the server's, for OnRequest
}

func (a *api) newRouteTable() routeTable {
	r := router.New()
	r.RedirectTrailingSlash = false // clients do not follow a redirect of a POST
	r.RedirectFixedPath = false
	r.NotFound = a.unknown
	r.MethodNotAllowed = a.methodNotAllowed
	r.GlobalOPTIONS = a.options
	return routeTable{a, r, false, false}
}

func (t routeTable) on(method, path string, h fasthttp.RequestHandler) {
	if !t.others && t.a.prefix == "" && t.a.s.protocols.replaces(method, path) {
		return
	}
	record := t.a.model.OnRequest
	if t.shared || t.others {
		record = t.a.s.opt.OnRequest
	}
	t.router.Handle(method, t.a.prefix+path, t.a.s.routed(t.a.pattern+path, record, h))
}

// get adds h, unless it is nil.
func (t routeTable) get(path string, h fasthttp.RequestHandler) {
	if h != nil {
		t.on(fasthttp.MethodGet, path, h)
		t.on(fasthttp.MethodHead, path, h) // fasthttp omits the body and keeps its length
	}
}

// probes adds the routes for health.
func (t routeTable) probes() {
	t.get(access.PathHealth, t.a.health)
	t.get("/livez", t.a.livez)
	t.get("/readyz", t.a.readyz)
}

// docs adds the page to try the model, where there is one.
func (t routeTable) docs() {
	if t.a.model.Docs == nil {
		return
	}
	t.get("/docs", t.a.model.Docs)
	for path, h := range t.a.model.DocsData {
		t.get(path, h)
	}
}

// seeOther redirects a browser to another page. The address is relative, because a proxy may have put a prefix before
// all paths.
func seeOther(ctx *fasthttp.RequestCtx, address string) {
	ctx.Response.Header.Set(fasthttp.HeaderLocation, address)
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}

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

// unknown answers a request for a path without a route. /docs/ leads to the page: the router takes no route for it
// beside /docs.
func (a *api) unknown(ctx *fasthttp.RequestCtx) {
	if a.model.Docs != nil && (ctx.IsGet() || ctx.IsHead()) &&
		string(ctx.Request.URI().PathOriginal()) == a.prefix+"/docs/" {
		seeOther(ctx, "../docs")
		return
	}
	a.s.out.NotFound(ctx)
}

// trainingless answers a request for trainings with 404, by any method, if the model has none; else it returns false.
func (a *api) trainingless(ctx *fasthttp.RequestCtx) bool {
	const path = "/trainings"
	rest, ok := bytes.CutPrefix(ctx.Request.URI().PathOriginal(), []byte(a.prefix+path))
	if !ok || len(rest) > 0 && rest[0] != '/' || a.to.Model().HasTraining() {
		return false
	}
	ctx.Response.Header.Del(fasthttp.HeaderAllow)
	a.s.out.NotFound(ctx)
	return true
}

func (a *api) methodNotAllowed(ctx *fasthttp.RequestCtx) {
	if !a.trainingless(ctx) {
		a.s.out.Detail(ctx, fasthttp.StatusMethodNotAllowed, "Method Not Allowed")
	}
}

// options answers OPTIONS; the router has set Allow.
func (a *api) options(ctx *fasthttp.RequestCtx) {
	if !a.trainingless(ctx) {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	}
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
