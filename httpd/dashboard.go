package httpd

import (
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/runtime/request"
)

// Dashboard is the live view.
type Dashboard struct {
	// Page answers GET /dashboard. It has no data.
	Page fasthttp.RequestHandler
	// Data answers GET of its paths. Their answers are for operators: no page of another origin may read them.
	Data map[string]fasthttp.RequestHandler
	// Actions answers POST of its paths: what clients that may cancel predictions may do.
	Actions map[string]fasthttp.RequestHandler
	// Origins are the origins ("http://gpu.example.com:5000") at which the view may be read over plain http although their
	// names could be registered.
	Origins []string
}

// dashboard adds the routes of the live view, where there is one.
func (t routeTable) dashboard() {
	d := t.model.Dashboard
	if d == nil {
		return
	}
	t.get("/dashboard", d.Page)
	for path, h := range d.Data {
		t.get(path, t.guarded(h))
	}
	for path, h := range d.Actions {
		t.on(fasthttp.MethodPost, path, t.guarded(h))
	}
}

// guarded answers only requests that no page of another origin can have sent.
//
// With DNS rebinding, an attacker's page at http://name has this server's origin. Browsers send Sec-Fetch-Site only to
// https and loopback addresses, so without it the name must be one that cannot be registered, unless tokens are
// required, which such a page lacks.
func (a *api) guarded(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		header := &ctx.Request.Header
		switch foreign, rebound := a.readers(header, a.model.Dashboard.Origins); {
		case foreign:
			a.detail(ctx, fasthttp.StatusForbidden, a.withHelp(
				"A browser sent this request for a page of another origin, which may not read the live view", "how-to/security"))
		case rebound:
			a.detail(ctx, fasthttp.StatusForbidden, a.withHelp(
				"The name "+request.Show(header.Host())+
					" could be registered by anyone (DNS rebinding), so the live view is not shown at it over plain http. "+
					"Open it by IP address or over https, or start the server with --allowed-host "+nameOf(string(header.Host())), "how-to/security"))
		default:
			h(ctx)
		}
	}
}

// readers reports whether a page of another origin may have sent a GET, or one at a name that could be registered,
// where origins are those at which that is allowed.
func (s *Server) readers(h *fasthttp.RequestHeader, origins []string) (foreign, rebound bool) {
	site, origin, host := string(h.Peek(headerFetchSite)), string(h.Peek(fasthttp.HeaderOrigin)), string(h.Host())
	if site != "" {
		return site != "same-origin" && site != "none", false
	}
	foreign = origin != "" && origin != "http://"+host && !ownOrigin(origin, host, s.opt.AllowedHosts)
	known := s.opt.Tokens != nil || isOwnName(host, s.opt.AllowedHosts) ||
		originIn(origins, "http://"+strings.TrimSuffix(strings.ToLower(host), ":80"))
	return foreign, !known
}
