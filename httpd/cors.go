package httpd

import (
	"slices"

	"github.com/valyala/fasthttp"
)

// What a browser may be told of this server.
const (
	corsMethods = "GET, HEAD, POST, PUT, OPTIONS"
	corsExposed = "Content-Disposition, Retry-After, " + headerID + ", " + headerMetrics + ", " + headerRetry + ", " +
		headerRequestID + ", " + headerWarning
	corsMaxAge = "600" // seconds for which a browser may keep the answer to a preflight
)

// cors lets the pages of some origins call this server from a browser (the Fetch standard, section 3.2).
// Cookies are not allowed: nothing here is told apart by them.
type cors struct {
	all     bool
	origins []string
}

// newCORS is nil where no origin may.
func newCORS(origins []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	return &cors{all: slices.Contains(origins, "*"), origins: origins}
}

// answer adds what the origin of a request may have, and answers a preflight; it tells whether it did.
func (c *cors) answer(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Response.Header
	if !c.all {
		h.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin) // also where there is none: caches must know
	}
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	switch {
	case len(origin) == 0:
		return false
	case c.all:
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	case c.allows(origin):
		h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	default:
		return false // read without a word of CORS: the browser keeps the answer from the page; see foreignPage
	}
	if !ctx.IsOptions() || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) == 0 {
		h.Set(fasthttp.HeaderAccessControlExposeHeaders, corsExposed)
		return false
	}
	h.Set(fasthttp.HeaderAccessControlAllowMethods, corsMethods)
	if wanted := ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders); len(wanted) > 0 {
		h.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, wanted) // any: no header means anything dangerous here
	}
	h.Set(fasthttp.HeaderAccessControlMaxAge, corsMaxAge)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return true
}

// allows tells whether pages of that origin may call this server.
func (c *cors) allows(origin []byte) bool { return c.all || slices.Contains(c.origins, string(origin)) }
