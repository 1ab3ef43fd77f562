package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"

	"github.com/valyala/fasthttp"
)

//go:embed page.html
var frame []byte

//go:embed style.css
var style []byte

//go:embed app.js
var app []byte

//go:embed scripts/token.js
var token []byte

// Handler answers with the page.
func Handler() fasthttp.RequestHandler {
	script := append(bytes.Clone(token), app...)
	body := bytes.Replace(frame, []byte("/*style*/"), style, 1)
	body = bytes.Replace(body, []byte("/*script*/"), script, 1)
	// The policy names the two by their digests: nothing else on the page may run, wherever it comes from.
	policy := "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; " +
		"img-src * data: blob:; media-src * data: blob:; script-src " + digest(script) + "; style-src " + digest(style)
	return func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		h.SetContentType("text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		ctx.SetBody(body)
	}
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
