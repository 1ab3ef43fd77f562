package httpd

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pinion/httpd/host"
	"pinion/httpd/openapi"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/request"
)

// protocols are the routes of the other protocols. A request comes here if no native route has its path. The native
// router knows nothing of them, so they cost its requests nothing.
type protocols struct {
	s      *Server
	list   []protocol.Protocol
	router *router.Router
	added  map[string]bool // the routes, by method and path
	host   *host.Host
}

// newProtocols returns the routes of s's protocols, or nil if there are none.
func newProtocols(s *Server) *protocols {
	if len(s.opt.Protocols) == 0 {
		return nil
	}
	p := &protocols{s: s, list: s.opt.Protocols, added: map[string]bool{}}
	p.host = host.New(&host.Host{
		Front: s.front, Placer: s.placerOf, Generation: s.opt.OnGeneration, Tokens: s.opt.Tokens, TLS: s.opt.TLS != nil,
		Control: func(ctx *fasthttp.RequestCtx) bool { return s.guard.MayControl(ctx) },
	})
	table := s.root.newRouteTable()
	table.router.NotFound = p.notFound
	table.router.MethodNotAllowed = p.methodNotAllowed
	p.router = table.router
	p.add(table, false)
	return p
}

// placerOf places the requests for the model of that name, or for the default one.
func (s *Server) placerOf(model string) *place.Placer {
	if a := s.find(model); a != nil {
		return &a.placer
	}
	return &s.root.placer
}

// add adds the routes that replace native ones, or the others, to a table.
func (p *protocols) add(to routeTable, replacing bool) {
	to.others = true
	for _, proto := range p.list {
		for _, r := range proto.Routes {
			route := r.Method + " " + r.Path
			if r.Replaces != replacing || p.added[route] {
				continue
			}
			p.added[route] = true
			h := p.handler(r.Handle)
			if r.Private {
				h = p.private(h)
			}
			if r.Method == fasthttp.MethodPost {
				h = p.s.front.Traced(r.Path, h)
			}
			if r.Method == fasthttp.MethodGet {
				to.get(r.Path, h)
			} else {
				to.on(r.Method, r.Path, h)
			}
		}
	}
}

func (p *protocols) handler(h func(*protocol.Exchange)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { h(protocol.NewExchange(ctx, p.host)) }
}

// private answers only requests that no page of another origin can have sent.
func (p *protocols) private(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		switch foreign, rebound := p.s.guard.Readers(&ctx.Request.Header, p.s.opt.CORSOrigins); {
		case foreign:
			p.s.refuseError(ctx, p.s.guard.RefuseForeign(&ctx.Request.Header))
		case rebound:
			p.s.refuseError(ctx, protocol.Errorf(protocol.Forbidden, "%s",
				"The name "+request.Show(ctx.Request.Header.Host())+" could be registered by anyone "+
					"(DNS rebinding), so this path is not served at it. Ask by IP address, or start the server with --auth-token-file, "+
					"or with --cors-origin http:// and that name"))
		default:
			h(ctx)
		}
	}
}

// owner returns the protocol whose paths a request's path belongs to, or nil.
func (p *protocols) owner(ctx *fasthttp.RequestCtx) *protocol.Protocol {
	if p == nil {
		return nil
	}
	path := string(ctx.Request.URI().PathOriginal())
	var owner *protocol.Protocol
	longest := 0
	for i := range p.list {
		if owns := p.list[i].Owns; owns != nil && owns(path) {
			return &p.list[i]
		}
		for _, prefix := range p.list[i].Prefixes {
			rest, ok := strings.CutPrefix(path, prefix)
			if ok && len(prefix) > longest && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/")) {
				owner, longest = &p.list[i], len(prefix)
			}
		}
	}
	return owner
}

// refuseFor answers with err in the shape of the protocol that owns the path; false means none does.
func (p *protocols) refuseFor(ctx *fasthttp.RequestCtx, err *protocol.Error) bool {
	owner := p.owner(ctx)
	if owner == nil || owner.Refuse == nil {
		return false
	}
	owner.Refuse(ctx, err)
	return true
}

// refuseError answers with a refusal: in the shape of the protocol that owns the path, or as the native API.
func (s *Server) refuseError(ctx *fasthttp.RequestCtx, err *protocol.Error) {
	if !s.protocols.refuseFor(ctx, err) {
		s.out.Detail(ctx, err.Status(), err.Message)
	}
}

func (p *protocols) notFound(ctx *fasthttp.RequestCtx) {
	if p.escapeName(ctx) || p.trimSlash(ctx) {
		p.router.Handler(ctx)
		return
	}
	if !p.refuseFor(ctx, protocol.Errorf(protocol.Unknown, "unknown path %s",
		logtext.Clip(string(ctx.Path())))) {
		p.s.root.unknown(ctx)
	}
}

func (p *protocols) methodNotAllowed(ctx *fasthttp.RequestCtx) {
	if p.escapeName(ctx) {
		ctx.Response.Header.Del(fasthttp.HeaderAllow)
		p.router.Handler(ctx)
		return
	}
	if p.refuseFor(ctx, protocol.Errorf(protocol.BadMethod, "%s does not take %s", logtext.Clip(string(ctx.Path())),
		logtext.Clip(string(ctx.Method())))) {
		return
	}
	p.s.root.methodNotAllowed(ctx)
}

// trimSlash removes the slash at the end of a protocol's path, which base URLs of clients bring. It reports whether there
// was one.
func (p *protocols) trimSlash(ctx *fasthttp.RequestCtx) bool {
	path, ok := strings.CutSuffix(string(ctx.Request.URI().PathOriginal()), "/")
	if !ok || strings.HasSuffix(path, "/") || p.owner(ctx) == nil {
		return false
	}
	ctx.Request.URI().SetPath(path)
	return true
}

// escapeName escapes the slashes of a model's name in a path: clients of KServe and Triton do not. It reports whether
// there were any.
func (p *protocols) escapeName(ctx *fasthttp.RequestCtx) bool {
	before, after, ok := strings.Cut(string(ctx.Request.URI().PathOriginal()), "/models/")
	longest := ""
	for _, a := range p.s.all() {
		name := a.model.Name
		rest, found := strings.CutPrefix(after, name)
		if ok && found && strings.Contains(name, "/") && len(name) > len(longest) &&
			(rest == "" || rest[0] == '/' || rest[0] == ':') {
			longest = name
		}
	}
	if longest != "" {
		ctx.Request.URI().SetPath(before + "/models/" + url.PathEscape(longest) + after[len(longest):])
	}
	return longest != ""
}

// isProbe reports whether a path of a protocol never requires a token.
func (p *protocols) isProbe(path string) bool {
	return p != nil && slices.ContainsFunc(p.list,
		func(proto protocol.Protocol) bool { return slices.Contains(proto.Probes, path) })
}

// isSigned reports whether a signature may stand for a token at a path.
func (p *protocols) isSigned(path string) bool {
	return p != nil && slices.ContainsFunc(p.list, func(proto protocol.Protocol) bool {
		return slices.ContainsFunc(proto.Signed, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
	})
}

// probes returns the paths of which GET never requires a token.
func (p *protocols) probes() (paths []string) {
	if p == nil {
		return nil
	}
	for i := range p.list {
		paths = append(paths, p.list[i].Probes...)
	}
	return paths
}

// DocumentRoutes returns the routes that the OpenAPI document lists for a model, of which model is its own document.
func DocumentRoutes(list []protocol.Protocol, model []byte) (routes []openapi.Route) {
	for i := range list {
		for _, r := range list[i].Routes {
			if r.For == nil || r.For(model) {
				routes = append(routes, openapi.Route{Method: r.Method, Path: r.Path, As: r.Document})
			}
		}
	}
	return routes
}
