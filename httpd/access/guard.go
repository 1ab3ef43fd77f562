package access

import (
	"slices"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
)

// Guard decides who may ask for what. Safe for concurrent use.
type Guard struct {
	// Tokens are required, where they are not nil, except for probes and the paths in Public.
	Tokens *Tokens
	Public []string
	// AllowedHosts are names of the server that no other can have, beside those that cannot be registered.
	AllowedHosts   []string
	ControlFromAny bool                           // every client may load, unload and reload models
	Jobs           bool                           // refusals name no flag
	Help           func(text, page string) string // adds the address of a document to a refusal
	// IsProbe and IsSigned report whether a path of a protocol requires no token: never, or with a signature.
	IsProbe, IsSigned func(path string) bool
	Within            func(path string) string // returns the part of a path below /models/NAME, or the whole path

	cors *cors // nil means off
}

// NewGuard returns a guard that lets the pages of some origins call the server, and read those headers of answers.
func NewGuard(g Guard, origins []string, exposed string) *Guard {
	g.cors = newCORS(origins, exposed)
	return &g
}

// Check answers a preflight, or says why a request is not served. done means that it is answered.
func (g *Guard) Check(ctx *fasthttp.RequestCtx) (done bool, refused *protocol.Error) {
	switch {
	case g.cors != nil && g.cors.answer(ctx):
		return true, nil
	case g.ForeignPage(ctx):
		return false, g.RefuseForeign(&ctx.Request.Header)
	case !g.admits(ctx):
		return false, g.refuseUnauthorized(ctx)
	}
	return false, nil
}

// admits reports whether a request may be served: it has a token, or its path requires none. The path is compared as
// the router does; see unescapePath.
func (g *Guard) admits(ctx *fasthttp.RequestCtx) bool {
	if g.Authorized(&ctx.Request.Header) {
		return true
	}
	path := g.Within(string(ctx.Request.URI().PathOriginal()))
	return slices.Contains(Probes[:], path) || (ctx.IsGet() || ctx.IsHead()) && g.IsProbe(path) ||
		slices.Contains(g.Public, path) || g.leadsToPage(ctx, path) || g.signed(ctx)
}

// leadsToPage reports whether a request for path is only redirected to the page, which requires no token.
func (g *Guard) leadsToPage(ctx *fasthttp.RequestCtx, path string) bool {
	toPage := path == "/docs/" || path == "/" && negotiate.IsBrowser(&ctx.Request.Header)
	return toPage && (ctx.IsGet() || ctx.IsHead()) && slices.Contains(g.Public, "/docs")
}
