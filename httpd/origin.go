package httpd

import (
	"bytes"
	"net"
	"strings"

	"github.com/valyala/fasthttp"
)

const headerFetchSite = "Sec-Fetch-Site"

// foreignPage tells whether a browser sends a request that changes something for a page of another origin, which
// Options.CORSOrigins does not name. CORS alone does not stop such a request: a form, or a fetch without a preflight, is
// carried out, and the browser only keeps the answer from the page.
//
// Sec-Fetch-Site counts first: no page can set it, and it is right behind proxies that change Host. Browsers send it to
// https and loopback addresses only; for others Origin must be this server's own. Clients that are no browsers send neither.
func (s *Server) foreignPage(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return hasSeen(ctx, seenOrigin) && !h.IsGet() && !h.IsHead() && !h.IsOptions() && s.foreign(h)
}

// foreign tells whether a browser sends a request, of any method, for such a page.
func (s *Server) foreign(h *fasthttp.RequestHeader) bool {
	site, origin := h.Peek(headerFetchSite), h.Peek(fasthttp.HeaderOrigin)
	switch {
	case len(site) == 0 && len(origin) == 0:
		return false
	case s.cors != nil && s.cors.allows(origin):
		return false
	case len(site) > 0:
		return string(site) != "same-origin" && string(site) != "none" // none: the user's own doing
	default:
		return !ownOrigin(string(origin), string(h.Host()))
	}
}

// refuseForeign answers a request of which foreignPage is true.
func (s *Server) refuseForeign(ctx *fasthttp.RequestCtx) {
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	remedy := "--cors-origin ORIGIN"
	if len(origin) > 0 && printable(origin) {
		remedy = "--cors-origin " + clip(string(origin), maxShown)
	}
	s.detail(ctx, fasthttp.StatusForbidden, "A browser sent this request for a page of another origin, which may not call this server. "+
		"To allow that origin, start the server with "+remedy)
}

// ownOrigin tells whether origin is that of a page which a server named host serves itself.
//
// A page at http://name whose name was made to resolve to this machine (DNS rebinding) looks the same. So a name must
// be one that strangers cannot register; https is safe because the stranger has no certificate for a proxy's name.
func ownOrigin(origin, host string) bool {
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
	return scheme == "https" || unregistrable(authority)
}

// privateDomains are the top-level domains of names for one's own network. None can be registered.
var privateDomains = [...]string{"localhost", "local", "internal", "lan", "home.arpa"}

// unregistrable tells whether an authority is an IP address, or a name that nobody can register in the public DNS.
func unregistrable(authority string) bool {
	name := authority
	if host, _, err := net.SplitHostPort(authority); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	if net.ParseIP(name) != nil || !strings.Contains(name, ".") {
		return true
	}
	for _, domain := range privateDomains {
		if strings.HasSuffix(name, "."+domain) {
			return true
		}
	}
	return false
}

// forwarding are the headers by which proxies say for whom they ask, besides those that begin with X-Forwarded.
var forwarding = [...]string{
	"Via", "Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For",
	"X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip", "Fly-Client-Ip",
}

// local tells whether a request comes from a program on this machine: not through a proxy on it, and not from a browser, in
// which a page of anybody's may run.
func local(ctx *fasthttp.RequestCtx) bool {
	for key := range ctx.Request.Header.All() {
		if len(key) > 11 && bytes.EqualFold(key[:11], []byte("X-Forwarded")) ||
			bytes.EqualFold(key, []byte(fasthttp.HeaderOrigin)) || bytes.EqualFold(key, []byte(headerFetchSite)) {
			return false
		}
		for _, name := range forwarding {
			if bytes.EqualFold(key, []byte(name)) {
				return false
			}
		}
	}
	switch from := ctx.RemoteAddr().(type) {
	case *net.TCPAddr:
		to, ok := ctx.LocalAddr().(*net.TCPAddr)
		return from.IP.IsLoopback() || ok && from.IP.Equal(to.IP) // the machine's own address, asked from itself
	case *net.UnixAddr:
		return true
	default:
		return false
	}
}
