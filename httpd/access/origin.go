package access

import (
	"bytes"
	"net"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/logtext"
	"pinion/runtime/request"
)

const HeaderFetchSite = "Sec-Fetch-Site"

// ForeignPage reports whether a request that changes state comes from a browser page of another origin that
// Options.CORSOrigins does not name. CORS alone does not stop it: a form, or a fetch without a preflight, is executed,
// and the browser only hides the answer.
//
// Sec-Fetch-Site counts first: no page can set it, and it is right even behind proxies that change Host. Browsers send
// it only to https and loopback addresses; elsewhere Origin must be this server, or else Referer. Other clients send
// none of them.
//
// A page of any origin may cause a GET without a preflight or an Origin, so no GET may change state. The exception is the
// GET that opens a WebSocket, which always has an Origin; no preflight protects it.
func (g *Guard) ForeignPage(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return transport.HasSeen(ctx, transport.SeenOrigin) && !h.IsHead() && !h.IsOptions() &&
		(!h.IsGet() || h.ConnectionUpgrade()) && g.Foreign(h)
}

// Foreign reports whether a request, of any method, comes from such a page.
func (g *Guard) Foreign(h *fasthttp.RequestHeader) bool {
	site, origin := h.Peek(HeaderFetchSite), h.Peek(fasthttp.HeaderOrigin)
	switch {
	case len(site) == 0 && len(origin) == 0:
		referer := h.Peek(fasthttp.HeaderReferer)
		if len(referer) == 0 {
			return false
		}
		origin = originOf(referer)
		return (g.cors == nil || !g.cors.allows(origin)) && !ownOrigin(string(origin), string(h.Host()), g.AllowedHosts)
	case g.cors != nil && g.cors.allows(origin):
		return false
	case len(site) > 0:
		return string(site) != "same-origin" && string(site) != "none" // none: the user typed the address
	default:
		return !ownOrigin(string(origin), string(h.Host()), g.AllowedHosts)
	}
}

// RefuseForeign says why a request for which foreignPage is true is refused.
func (g *Guard) RefuseForeign(h *fasthttp.RequestHeader) *protocol.Error {
	text := "A browser sent this request for a page of another origin, which may not call this server"
	switch origin := string(h.Peek(fasthttp.HeaderOrigin)); {
	case g.Jobs:
	case origin == "http://"+string(h.Host()) && len(h.Peek(HeaderFetchSite)) == 0:
		text = "This page was opened at the name " + request.Show(h.Host()) +
			" over plain http, and that name is not known to be " +
			"this machine's own: it could be registered by anyone (DNS rebinding). Open the page by IP address or over https, " +
			"or start the server with --allowed-host " + logtext.Clip(NameOf(string(h.Host())))
	default:
		allowed := "ORIGIN"
		if len(origin) > 0 && negotiate.Printable([]byte(origin)) {
			allowed = logtext.Clip(origin)
		}
		text += ". To allow that origin, start the server with --cors-origin " + allowed
	}
	return protocol.Errorf(protocol.Forbidden, "%s", g.Help(text, "how-to/security"))
}

// originOf returns the origin of a URL.
func originOf(address []byte) []byte {
	if at := bytes.Index(address, []byte("://")); at >= 0 {
		if end := bytes.IndexAny(address[at+3:], "/?#"); end >= 0 {
			return address[:at+3+end]
		}
	}
	return address
}

// ownOrigin reports whether origin is that of a page which the server named host serves.
//
// With DNS rebinding, an attacker's page at http://name looks the same. So the name must be one that cannot be
// registered, or one of names. https is safe, because the attacker has no certificate for the name.
func ownOrigin(origin, host string, names []string) bool {
	scheme, authority, ok := strings.Cut(strings.ToLower(origin), "://")
	if !ok || authority == "" || scheme != "http" && scheme != "https" {
		return false // "null" above all: a file, a sandboxed frame, a redirect
	}
	defaultPort := ":80"
	if scheme == "https" {
		defaultPort = ":443"
	}
	if strings.TrimSuffix(authority, defaultPort) != strings.TrimSuffix(strings.ToLower(host), defaultPort) {
		return false
	}
	return scheme == "https" || isOwnName(authority, names)
}

// isOwnName reports whether an authority cannot be another server's: by DNS rebinding, any other name can be made to
// lead here.
func isOwnName(authority string, names []string) bool {
	return unregistrable(authority) || slices.Contains(names, NameOf(authority))
}

// privateDomains are the top-level domains for private networks. None can be registered.
var privateDomains = [...]string{"localhost", "local", "internal", "lan", "home.arpa"}

// unregistrable reports whether an authority is an IP address, or a name that cannot be registered in the public DNS.
func unregistrable(authority string) bool {
	name := NameOf(authority)
	if net.ParseIP(name) != nil || !strings.Contains(name, ".") {
		return true
	}
	return slices.ContainsFunc(privateDomains[:], func(domain string) bool { return strings.HasSuffix(name, "."+domain) })
}

// NameOf returns the name or address of an authority, without its port, as Options.AllowedHosts has it.
func NameOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		authority = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(authority, "[]"), "."))
}

// Local reports whether a request comes from a program on this machine, but not from a proxy or a browser: a browser
// may run any page.
func Local(ctx *fasthttp.RequestCtx) bool {
	for key := range ctx.Request.Header.All() {
		if protocol.Forwards(key) ||
			bytes.EqualFold(key, []byte(fasthttp.HeaderOrigin)) || bytes.EqualFold(key, []byte(HeaderFetchSite)) ||
			bytes.EqualFold(key, []byte(fasthttp.HeaderReferer)) {
			return false
		}
	}
	switch from := ctx.RemoteAddr().(type) {
	case *net.TCPAddr:
		to, ok := ctx.LocalAddr().(*net.TCPAddr)
		return from.IP.IsLoopback() || ok && from.IP.Equal(to.IP) // this machine's address, from itself
	case *net.UnixAddr:
		return true
	default:
		return false
	}
}

// Readers reports whether a page of another origin may have sent a GET, or one at a name that could be registered,
// where origins are those at which that is allowed.
func (g *Guard) Readers(h *fasthttp.RequestHeader, origins []string) (foreign, rebound bool) {
	site, origin, host := string(h.Peek(HeaderFetchSite)), string(h.Peek(fasthttp.HeaderOrigin)), string(h.Host())
	if site != "" {
		return site != "same-origin" && site != "none", false
	}
	foreign = origin != "" && origin != "http://"+host && !ownOrigin(origin, host, g.AllowedHosts)
	known := g.Tokens != nil || isOwnName(host, g.AllowedHosts) ||
		originIn(origins, "http://"+strings.TrimSuffix(strings.ToLower(host), ":80"))
	return foreign, !known
}

// MayControl reports whether a client may load, unload and reload models: it is a program on this machine, it has a
// token, or every client may.
func (g *Guard) MayControl(ctx *fasthttp.RequestCtx) bool {
	return g.ControlFromAny || Local(ctx) || g.Tokens != nil && g.Authorized(&ctx.Request.Header)
}
