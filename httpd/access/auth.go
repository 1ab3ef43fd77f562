package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
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
		if len(key) == 0 && h.ConnectionUpgrade() {
			return offered(h)
		}
		return key, len(key) > 0
	}
	scheme, token, ok := bytes.Cut(given, []byte{' '})
	ok = ok && (bytes.EqualFold(scheme, []byte("Bearer")) || bytes.EqualFold(scheme, []byte("Token")))
	return negotiate.Trim(token), ok
}

// offered returns the token among the subprotocols that a WebSocket offers: pages cannot set Authorization. OpenAI's
// clients send theirs as it is.
func offered(h *fasthttp.RequestHeader) ([]byte, bool) {
	for _, list := range h.PeekAll("Sec-Websocket-Protocol") {
		for name := range bytes.SplitSeq(list, []byte{','}) {
			name = negotiate.Trim(name)
			if key, is := bytes.CutPrefix(name, []byte("openai-insecure-api-key.")); is {
				return key, true
			}
			if key, is := bytes.CutPrefix(name, []byte("bearer.")); is {
				token, err := base64.RawURLEncoding.AppendDecode(nil, bytes.TrimRight(key, "="))
				return token, err == nil
			}
		}
	}
	return nil, false
}

// signed reports whether a request is a GET of a link that the server has made; see protocol.Jobs.
func (g *Guard) signed(ctx *fasthttp.RequestCtx) bool {
	if !ctx.IsGet() && !ctx.IsHead() || !ctx.QueryArgs().Has("signature") {
		return false
	}
	path := string(ctx.Request.URI().PathOriginal())
	return g.IsSigned(path) && g.Tokens.signed(path, ctx.QueryArgs().Peek("signature"))
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
