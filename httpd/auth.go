package httpd

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// Tokens are the bearer tokens (RFC 6750) that a server takes. Safe for concurrent use.
type Tokens struct {
	digests atomic.Pointer[[][sha256.Size]byte] // not the tokens: equal lengths take equal times to compare
}

// Set replaces the tokens.
func (t *Tokens) Set(tokens []string) {
	digests := make([][sha256.Size]byte, len(tokens))
	for i, token := range tokens {
		digests[i] = sha256.Sum256([]byte(token))
	}
	t.digests.Store(&digests)
}

// has tells whether token is one of them, in a time that does not depend on which, nor on how much of it is right.
func (t *Tokens) has(token []byte) bool {
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

// probes are the paths that never want a token: those who ask them, such as a kubelet, have none.
var probes = [...]string{"/livez", "/readyz", pathHealth}

const pathHealth = "/health-check"

// authorized tells whether a request has one of the tokens, where any are wanted.
func (s *Server) authorized(h *fasthttp.RequestHeader) bool {
	if s.opt.Tokens == nil {
		return true
	}
	token, ok := bearer(h)
	return ok && s.opt.Tokens.has(token)
}

// bearer is the token of a request.
func bearer(h *fasthttp.RequestHeader) ([]byte, bool) {
	scheme, token, ok := bytes.Cut(h.Peek(fasthttp.HeaderAuthorization), []byte{' '})
	return trim(token), ok && bytes.EqualFold(scheme, []byte("Bearer"))
}

// admits tells whether a request may be served: it has a token, or its path wants none. The path is compared as the
// router does, before anything in it is decoded.
func (s *Server) admits(ctx *fasthttp.RequestCtx) bool {
	if s.authorized(&ctx.Request.Header) {
		return true
	}
	path := string(ctx.Request.URI().PathOriginal())
	return slices.Contains(probes[:], path) || slices.Contains(s.opt.Public, path)
}

// refuseUnauthorized answers a request that admits refuses.
func (s *Server) refuseUnauthorized(ctx *fasthttp.RequestCtx) {
	challenge, detail := `Bearer realm="pinion"`, "This server wants a token: send the header Authorization: Bearer TOKEN"
	if _, ok := bearer(&ctx.Request.Header); ok {
		challenge, detail = challenge+`, error="invalid_token"`, "The token in the header Authorization is none of this server's"
	}
	ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, challenge)
	s.detail(ctx, fasthttp.StatusUnauthorized, detail)
}

// withoutDetails is what a client without a token may know of a server's health.
func withoutDetails(h Health) Health {
	out := Health{Status: h.Status, Version: map[string]string{}}
	if h.Setup != nil {
		setup := *h.Setup
		setup.Logs = ""
		out.Setup = &setup
	}
	return out
}
