package httpd

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
	"pinion/runtime/health"
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

// sign returns the proof that a server with the same tokens has made a path.
func (t *Tokens) sign(path string) string {
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

// probes are the paths that never require a token: a kubelet, for example, has none.
var probes = [...]string{"/livez", "/readyz", pathHealth}

const pathHealth = "/health-check"

// authorized reports whether a request has a valid token, or none is required.
func (s *Server) authorized(h *fasthttp.RequestHeader) bool {
	if s.opt.Tokens == nil {
		return true
	}
	token, ok := bearer(h)
	return ok && s.opt.Tokens.Has(token)
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
	return negotiate.Trim(token), ok && (bytes.EqualFold(scheme, []byte("Bearer")) || bytes.EqualFold(scheme, []byte("Token")))
}

// admits reports whether a request may be served: it has a token, or its path requires none. The path is compared as
// the router does; see unescapePath.
func (s *Server) admits(ctx *fasthttp.RequestCtx) bool {
	if s.authorized(&ctx.Request.Header) {
		return true
	}
	path := s.within(string(ctx.Request.URI().PathOriginal()))
	return slices.Contains(probes[:], path) || (ctx.IsGet() || ctx.IsHead()) && s.protocols.isProbe(path) ||
		slices.Contains(s.opt.Public, path) || s.leadsToPage(ctx, path) || s.signed(ctx)
}

// signed reports whether a request is a GET of a link that the server has made; see protocol.Jobs.
func (s *Server) signed(ctx *fasthttp.RequestCtx) bool {
	if !ctx.IsGet() && !ctx.IsHead() || !ctx.QueryArgs().Has("signature") {
		return false
	}
	path := string(ctx.Request.URI().PathOriginal())
	return s.protocols.isSigned(path) && s.opt.Tokens.signed(path, ctx.QueryArgs().Peek("signature"))
}

// leadsToPage reports whether a request for path is only redirected to the page, which requires no token.
func (s *Server) leadsToPage(ctx *fasthttp.RequestCtx, path string) bool {
	toPage := path == "/docs/" || path == "/" && isBrowser(&ctx.Request.Header)
	return toPage && (ctx.IsGet() || ctx.IsHead()) && slices.Contains(s.opt.Public, "/docs")
}

// refuseUnauthorized answers a request that admits refuses.
func (s *Server) refuseUnauthorized(ctx *fasthttp.RequestCtx) {
	challenge, detail := `Bearer realm="pinion"`,
		"This server requires a token: send the header Authorization: Bearer TOKEN"
	if _, ok := bearer(&ctx.Request.Header); ok {
		challenge, detail = challenge+`, error="invalid_token"`,
			"The token in the header Authorization is not valid for this server"
	}
	ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, challenge)
	s.refuseAs(ctx, protocol.Unauthorized, s.withHelp(detail, "how-to/security"))
}

// withoutDetails returns the health that a client without a token may see.
func withoutDetails(h health.Document) health.Document {
	out := health.Document{Status: h.Status, Version: map[string]string{}}
	if h.Setup != nil {
		setup := *h.Setup
		setup.Logs, setup.LastLine, setup.Percent = "", "", nil
		out.Setup = &setup
	}
	return out
}
