package httpd

import (
	"net/url"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/native"
	"pinion/httpd/place"
)

// api is the routes of one model, below a prefix.
type api struct {
	s      *Server
	to     place.Route // who answers
	placer place.Placer
	router *router.Router

	prefix  string // of its paths: "" at the root, or "/models/NAME"
	pattern string // of its routes in metrics: "", or pathModel
	model   Model

	completed atomic.Pointer[completed] // the OpenAPI document; nil means not yet requested
	functions atomic.Pointer[functions] // nil means not yet requested
	of        *api                      // the model's, if these are of a function
}

// Model is a model whose routes are below /models/NAME.
type Model struct {
	// Name has only a-z A-Z 0-9 . _ - : and /, which is escaped in its paths.
	Name  string
	Route place.Route
	// Queue and Queueing are as those of Options.
	Queue    func() place.Queue
	Queueing place.QueueOptions
	// Named means that requests at the root are not for this model, though it is the first one.
	Named bool
	// Title is the title of the OpenAPI document. Default: the title in the model's document.
	Title string
	// Docs answers GET docs; nil means 404. DocsData answers GET of its paths, what the page asks for.
	Docs     fasthttp.RequestHandler
	DocsData map[string]fasthttp.RequestHandler
	// Dashboard is the live view at dashboard; nil means 404.
	Dashboard *Dashboard
	// Reload is called by POST reload, as Options.Reload; nil means 404.
	Reload func() (notice string, err error)
	// Load is called by POST load, and returns once the model is ready; Unload by POST unload, once its processes are
	// gone. A *predict.NotReadyError is answered 503, another error 500. nil means 404.
	Load, Unload func() error
	// Traffic returns where requests for the model go, or nil if it has no versions. Shift gives its versions other
	// shares; an error is answered as that of Load, or 400; nil means no client may ask.
	Traffic func() *Traffic
	Shift   func(shares map[string]int) error
	// OnRequest receives the requests to the model's routes, as Options.OnRequest. The default is none.
	OnRequest func(route, method string, code int, took time.Duration)
	// Entry returns what GET /models says of the model.
	Entry func() ModelEntry
}

// newRoot returns the routes at the root: those of the default model, and of the server.
func (s *Server) newRoot(route place.Route) *api {
	o := &s.opt
	a := &api{
		s: s, to: route, placer: s.newPlacer(route, o.Queue, o.Queueing),
		model: Model{
			Title: o.ModelName, Docs: o.Docs, DocsData: o.DocsData, Dashboard: o.Dashboard, Reload: o.Reload,
			OnRequest: o.OnRequest,
		},
	}
	if len(o.Models) > 0 {
		a.model.OnRequest = o.Models[0].OnRequest
	}
	return a
}

func (s *Server) newAPI(m Model) *api {
	a := &api{
		s: s, to: m.Route, placer: s.newPlacer(m.Route, m.Queue, m.Queueing), model: m,
		prefix: pathModels + "/" + url.PathEscape(m.Name), pattern: pathModel,
	}
	if s.opt.monitors {
		r := a.newRouteTable()
		r.probes()
		r.dashboard()
		a.router = r.router
		return a
	}
	a.router = a.routes().router
	return a
}

func (s *Server) newPlacer(to place.Route, queue func() place.Queue, queueing place.QueueOptions) place.Placer {
	return place.Placer{
		Route: to, Queue: queue, Queueing: queueing,
		Replays: s.opt.ReplayPuts, Memory: s.opt.Memory, Busy: &s.busy,
	}
}

// SetModels replaces the models below /models; the first one is the default. Requests that came before end where they
// began.
func (s *Server) SetModels(models []Model) {
	list := make([]*api, len(models))
	for i, m := range models {
		list[i] = s.newAPI(m)
	}
	s.models.Store(&list)
}

func (a *api) routes() routeTable {
	r := a.newRouteTable()
	r.get("/openapi.json", a.openAPI)
	r.docs()
	for _, k := range []native.Collection{a.s.front.Predictions(&a.placer), a.s.front.Trainings(&a.placer)} {
		path := k.Path()
		r.on(fasthttp.MethodPost, path, a.traced(path, k.Create))
		r.on(fasthttp.MethodPut, path+"/{id}", a.traced(path+"/{id}", k.Put))
		r.get(path+"/{id}", k.Get)
		r.get(path+"/{id}/files/{number}", k.File)
		r.on(fasthttp.MethodPost, path+"/{id}/cancel", a.traced(path+"/{id}/cancel", k.Cancel))
	}
	if a.model.Reload != nil {
		r.on(fasthttp.MethodPost, "/reload", a.reload)
	}
	if a.prefix != "" {
		if a.model.Load != nil {
			r.on(fasthttp.MethodPost, "/load", a.change("loaded", a.model.Load))
			r.on(fasthttp.MethodPost, "/unload", a.change("unloaded", a.model.Unload))
		}
		if a.model.Traffic != nil {
			r.get("/traffic", a.showTraffic)
		}
		if a.model.Shift != nil {
			r.on(fasthttp.MethodPost, "/traffic", a.shiftTraffic)
		}
		r.probes()
		r.dashboard()
		r.get("/", a.discovery())
	}
	return r
}

// traced wraps the handler of a route that is traced.
func (a *api) traced(path string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return a.s.front.Traced(a.pattern+path, h)
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
