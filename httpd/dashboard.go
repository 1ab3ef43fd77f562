package httpd

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
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
	d := t.a.model.Dashboard
	if d == nil {
		return
	}
	t.get("/dashboard", d.Page)
	for path, h := range d.Data {
		t.get(path, t.a.guarded(h))
	}
	for path, h := range d.Actions {
		t.on(fasthttp.MethodPost, path, t.a.guarded(h))
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
		foreign, rebound := a.s.guard.Readers(header, a.model.Dashboard.Origins)
		text := "A browser sent this request for a page of another origin, which may not read the live view"
		switch {
		case foreign:
		case rebound:
			text = "The name " + request.Show(header.Host()) +
				" could be registered by anyone (DNS rebinding), so the live view is not shown at it over plain http. " +
				"Open it by IP address or over https, or start the server with --allowed-host " + access.NameOf(string(header.Host()))
		default:
			h(ctx)
			return
		}
		a.s.out.Detail(ctx, fasthttp.StatusForbidden, a.s.out.WithHelp(text, "how-to/security"))
	}
}
