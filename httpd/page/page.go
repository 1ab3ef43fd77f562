package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html"

	"github.com/valyala/fasthttp"
)

//go:embed page.html
var frame []byte

//go:embed style.css
var style []byte

//go:embed scripts/*.js
var scripts embed.FS

// scriptNames are the scripts in the order in which they run. They share one scope; only the last one runs code.
func scriptNames() []string {
	return []string{
		"dom", "token", "api", "model", "controls", "files", "form", "memory", "media", "views", "result", "code", "run", "health", "start",
	}
}

// Handler answers with the page of the model of that name.
func Handler(name string) fasthttp.RequestHandler {
	script := joinScripts()
	body := bytes.Replace(frame, []byte("/*style*/"), style, 1)
	body = bytes.Replace(body, []byte("/*script*/"), script, 1)
	body = bytes.ReplaceAll(body, []byte("/*title*/"), []byte(html.EscapeString(name)))
	// The policy names both by digest, so that nothing else on the page can run.
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

// joinScripts joins all scripts in one scope, which is not the window's.
func joinScripts() []byte {
	var all bytes.Buffer
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scriptNames() {
		text, err := scripts.ReadFile("scripts/" + name + ".js")
		if err != nil {
			continue // a test compares the list with the folder
		}
		all.Write(text)
	}
	all.WriteString("})();\n")
	return all.Bytes()
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
