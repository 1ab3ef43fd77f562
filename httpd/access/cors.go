package access

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// The CORS headers of this server.
const (
	corsMethods = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
	corsMaxAge  = "600" // seconds for which a browser may cache a preflight's answer

	// headerAskPrivate is how a preflight of Chrome asks whether a page of the internet may call a server in a private
	// network.
	headerAskPrivate   = "Access-Control-Request-Private-Network"
	headerAllowPrivate = "Access-Control-Allow-Private-Network"
)

// cors lets pages of some origins call this server from a browser (the Fetch standard, section 3.2). Cookies are not
// allowed: the server uses none.
type cors struct {
	exposed   string // the headers of answers that pages may read
	anyOrigin bool
	origins   []string
}

// newCORS returns nil if no origin is allowed.
func newCORS(origins []string, exposed string) *cors {
	if len(origins) == 0 {
		return nil
	}
	return &cors{exposed: exposed, anyOrigin: slices.Contains(origins, "*"), origins: origins}
}

// answer adds the CORS headers for a request's origin. It answers a preflight, and reports whether it was one.
func (c *cors) answer(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Response.Header
	if !c.anyOrigin {
		h.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin) // also without an Origin: caches must know
	}
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	switch {
	case len(origin) == 0:
		return false
	case c.anyOrigin:
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	case c.allows(origin):
		h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	default:
		return false // without CORS headers, the browser hides the answer from the page; see foreignPage
	}
	if !ctx.IsOptions() || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) == 0 {
		h.Set(fasthttp.HeaderAccessControlExposeHeaders, c.exposed)
		return false
	}
	h.Set(fasthttp.HeaderAccessControlAllowMethods, corsMethods)
	if wanted := ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders); len(wanted) > 0 {
		h.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, wanted) // any header: none is dangerous here
	}
	if string(ctx.Request.Header.Peek(headerAskPrivate)) == "true" {
		h.Set(headerAllowPrivate, "true")
	}
	h.Set(fasthttp.HeaderAccessControlMaxAge, corsMaxAge)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return true
}

// allows reports whether pages of that origin may call this server.
func (c *cors) allows(origin []byte) bool { return c.anyOrigin || originIn(c.origins, string(origin)) }

// originIn reports whether an origin is one of these, or fits one of these patterns: https://*.example.com has all
// names below that one, and http://localhost:* all ports.
func originIn(patterns []string, origin string) bool {
	return slices.ContainsFunc(patterns,
		func(pattern string) bool { return pattern == origin || fitsOrigin(pattern, origin) })
}

func fitsOrigin(pattern, origin string) bool {
	scheme, want, _ := strings.Cut(pattern, "://")
	host, same := strings.CutPrefix(origin, scheme+"://")
	if !same || !strings.Contains(want, "*") {
		return false
	}
	if name, anyPort := strings.CutSuffix(want, ":*"); anyPort {
		want = name
		if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
			host = host[:i]
		}
	}
	suffix, below := strings.CutPrefix(want, "*")
	if !below {
		return host == want
	}
	name, is := strings.CutSuffix(host, suffix)
	return is && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}
