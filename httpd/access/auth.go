package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
)

// Tokens are the bearer tokens (RFC 6750) that a server accepts. Safe for concurrent use.
type Tokens struct {
	digests atomic.Pointer[[][sha256.Size]byte] // digests have equal lengths, so comparisons take equal time
}

// Set replaces the tokens.
func (t *Tokens) Set(tokens []string) {
	digests := make([][sha256.Size]byte, len(tokens))
	for i, token := range tokens {
		digests[i] = sha256.Sum256([]byte(token))
	}
	t.digests.Store(&digests)
}

// Has reports whether token is one of them, in constant time.
func (t *Tokens) Has(token []byte) bool {
	digests := t.digests.Load()
	if digests == nil {
		return false
	}
	given, found := sha256.Sum256(token), 0
	for i := range *digests {
		found |= subtle.ConstantTimeCompare(given[:], (*digests)[i][:])
	}
	return found == 1
}

// Sign returns the proof that a server with the same tokens has made a path.
func (t *Tokens) Sign(path string) string {
	digests := t.digests.Load()
	if digests == nil || len(*digests) == 0 {
		return ""
	}
	return signature((*digests)[0][:], path)
}

// signed reports whether proof is that of a path, in constant time.
func (t *Tokens) signed(path string, proof []byte) bool {
	digests := t.digests.Load()
	if digests == nil || len(proof) == 0 {
		return false
	}
	found := 0
	for i := range *digests {
		found |= subtle.ConstantTimeCompare([]byte(signature((*digests)[i][:], path)), proof)
	}
	return found == 1
}

func signature(key []byte, path string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("path " + path))
	return hex.EncodeToString(mac.Sum(nil))
}

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

// Probes are the paths that never require a token: a kubelet, for example, has none.
var Probes = [...]string{"/livez", "/readyz", PathHealth}

const PathHealth = "/health-check"

// Authorized reports whether a request has a valid token, or none is required.
func (g *Guard) Authorized(h *fasthttp.RequestHeader) bool {
	if g.Tokens == nil {
		return true
	}
	token, ok := bearer(h)
	return ok && g.Tokens.Has(token)
}

// bearer returns the token of a request. Clients of Replicate name the scheme Token, and those of Anthropic send the
// header X-Api-Key.
func bearer(h *fasthttp.RequestHeader) ([]byte, bool) {
	given := h.Peek(fasthttp.HeaderAuthorization)
	if len(given) == 0 {
		key := negotiate.Trim(h.Peek("X-Api-Key"))
		return key, len(key) > 0
	}
	scheme, token, ok := bytes.Cut(given, []byte{' '})
	ok = ok && (bytes.EqualFold(scheme, []byte("Bearer")) || bytes.EqualFold(scheme, []byte("Token")))
	return negotiate.Trim(token), ok
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

// signed reports whether a request is a GET of a link that the server has made; see protocol.Jobs.
func (g *Guard) signed(ctx *fasthttp.RequestCtx) bool {
	if !ctx.IsGet() && !ctx.IsHead() || !ctx.QueryArgs().Has("signature") {
		return false
	}
	path := string(ctx.Request.URI().PathOriginal())
	return g.IsSigned(path) && g.Tokens.signed(path, ctx.QueryArgs().Peek("signature"))
}

// leadsToPage reports whether a request for path is only redirected to the page, which requires no token.
func (g *Guard) leadsToPage(ctx *fasthttp.RequestCtx, path string) bool {
	toPage := path == "/docs/" || path == "/" && negotiate.IsBrowser(&ctx.Request.Header)
	return toPage && (ctx.IsGet() || ctx.IsHead()) && slices.Contains(g.Public, "/docs")
}

// refuseUnauthorized says why admits refuses a request.
func (g *Guard) refuseUnauthorized(ctx *fasthttp.RequestCtx) *protocol.Error {
	challenge, detail := `Bearer realm="pinion"`,
		"This server requires a token: send the header Authorization: Bearer TOKEN"
	if _, ok := bearer(&ctx.Request.Header); ok {
		challenge, detail = challenge+`, error="invalid_token"`,
			"The token in the header Authorization is not valid for this server"
	}
	ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, challenge)
	return protocol.Errorf(protocol.Unauthorized, "%s", g.Help(detail, "how-to/security"))
}
