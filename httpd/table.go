package httpd

import (
	"bytes"
	"slices"
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
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

// seeOther redirects a browser to another page. The address is relative, because a proxy may have put a prefix before
// all paths.
func seeOther(ctx *fasthttp.RequestCtx, address string) {
	ctx.Response.Header.Set(fasthttp.HeaderLocation, address)
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}

// unknown answers a request for a path without a route. /docs/ leads to the page: the router takes no route for it
// beside /docs.
func (a *api) unknown(ctx *fasthttp.RequestCtx) {
	if a.routeFunction(ctx) {
		return
	}
	if a.model.Docs != nil && (ctx.IsGet() || ctx.IsHead()) &&
		string(ctx.Request.URI().PathOriginal()) == a.prefix+"/docs/" {
		seeOther(ctx, "../docs")
		return
	}
	if instead := a.instead(ctx); instead != "" {
		a.s.out.NotFoundInstead(ctx, instead)
		return
	}
	a.s.out.NotFound(ctx)
}

// otherNames are the names that other servers have for a route, and what to ask for here; % is the model's path.
var otherNames = [...]struct {
	text  string
	names []string
}{
	{`POST %/predictions with {"input": {…}} makes a prediction`, []string{
		"predict", "prediction", "predictions", "infer", "inference", "invoke", "generate", "run",
	}},
	{"GET /health-check has the server's state", []string{"health", "healthcheck", "status"}},
	{"GET /livez is the probe", []string{"healthz", "live", "alive", "liveness"}},
	{"GET /readyz is the probe", []string{"ready", "readiness"}},
	{"POST /models/NAME/load loads a model, if the server has --reload", []string{"load"}},
	{"POST /models/NAME/unload unloads a model, if the server has --reload", []string{"unload"}},
}

// instead says what a request for an unknown path may have meant, or "".
func (a *api) instead(ctx *fasthttp.RequestCtx) string {
	path := bytes.TrimPrefix(ctx.Request.URI().PathOriginal(), []byte(a.prefix))
	name := strings.ToLower(string(bytes.Trim(path[:min(len(path), 20)], "/")))
	for i := range otherNames {
		if other := &otherNames[i]; slices.Contains(other.names, name) {
			return strings.Replace(other.text, "%", a.prefix, 1)
		}
	}
	return ""
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

// replaces reports whether a protocol's route has the path of a native one.
func (p *protocols) replaces(method, path string) bool {
	if p == nil {
		return false
	}
	for _, proto := range p.list {
		for _, r := range proto.Routes {
			if r.Replaces && r.Path == path &&
				(r.Method == method || r.Method == fasthttp.MethodGet && method == fasthttp.MethodHead) {
				return true
			}
		}
	}
	return false
}
