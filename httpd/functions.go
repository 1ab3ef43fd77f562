package httpd

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

const (
	pathFunctions = "/functions"
	pathFunction  = pathFunctions + "/{function}"
)

// functions are the routes of a model's functions, made when the first request asks for one.
type functions struct {
	document []byte // that names them
	names    []string
	apis     map[string]*api
}

// routeFunction passes a request on to the routes of the function that its path names; false means that it names none. It
// is asked if no other route has the path, so a model without functions has no routes for them.
func (a *api) routeFunction(ctx *fasthttp.RequestCtx) bool {
	rest, ok := strings.CutPrefix(string(ctx.Request.URI().PathOriginal()), a.prefix+pathFunctions+"/")
	segment, _, below := strings.Cut(rest, "/")
	if !ok || !below || a.of != nil {
		return false
	}
	name := unescaped(segment)
	document, known := a.to.Model().OpenAPI()
	if !known { // the request loads the model, or is refused, before its functions are known
		a.newFunction(name).router.Handler(ctx)
		return true
	}
	all := a.functionsOf(document)
	if f := all.apis[name]; f != nil {
		f.router.Handler(ctx)
		return true
	}
	a.s.out.Refuse(ctx, &predict.NoFunctionError{Name: logtext.Clip(name), Known: all.names, Root: a.prefix})
	return true
}

func (a *api) functionsOf(document []byte) *functions {
	all := a.functions.Load()
	if all != nil && bytes.Equal(all.document, document) {
		return all
	}
	named := schema.Functions(document)
	all = &functions{document: document, names: slices.Sorted(maps.Keys(named)), apis: map[string]*api{}}
	for _, name := range all.names {
		all.apis[name] = a.newFunction(name)
	}
	a.functions.Store(all)
	return all
}

func (a *api) newFunction(name string) *api {
	f := &api{
		s: a.s, placer: a.placer.Of(name), prefix: a.prefix + pathFunctions + "/" + url.PathEscape(name),
		pattern: a.pattern + pathFunction, model: Model{Title: name, OnRequest: a.model.OnRequest}, of: a,
	}
	f.to = f.placer.Route
	f.router = f.routes().router
	return f
}
