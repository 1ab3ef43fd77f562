package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"sync"

	"github.com/valyala/fasthttp"
)

//go:embed frame.html
var frame []byte

//go:embed base.css
var baseStyle []byte

//go:embed live.css
var liveStyle []byte

//go:embed scripts/*.js
var baseScripts embed.FS

// baseNames are the shared scripts in the order in which they run.
var baseNames = [...]string{"dom", "theme", "words", "status", "done", "bars", "calls", "token", "api"}

// Source is what a page is made of.
type Source struct {
	// Title is the document's, and HTML its body, with marks /*NAME*/ for each name of Texts.
	Title string
	HTML  []byte
	// Style follows the shared style.
	Style []byte
	// Scripts has scripts/NAME.js for each of Names, which run in that order after the shared ones. All share one scope,
	// which is not the window's.
	Scripts fs.FS
	Names   []string
	// Models are links to the same page of the server's models; HTML has the mark /*models*/ for them. None means that
	// there is one model.
	Models []Link
	// Texts replace their marks. They are escaped.
	Texts map[string]string
	// Live means that the page has what the live views share.
	Live bool
	// Media means that the page may show images, sounds and films of any origin.
	Media bool
}

// Link is a link to a page of a model.
type Link struct {
	Text, Address string
	Current       bool // it leads to this page
}

// nav returns the links to the models' pages.
func nav(links []Link) []byte {
	if len(links) == 0 {
		return nil
	}
	b := []byte("<nav id=\"models\" aria-label=\"Models\">\n")
	for _, l := range links {
		current := ""
		if l.Current {
			current = ` aria-current="page"`
		}
		b = fmt.Appendf(b, "    <a class=\"pill\" href=\"%s\"%s>%s</a>\n", html.EscapeString(l.Address), current,
			html.EscapeString(l.Text))
	}
	return append(b, "  </nav>\n  "...)
}

// Handler answers with the page, which the first request makes: most servers start without a client that asks for it.
func Handler(s Source) fasthttp.RequestHandler {
	page := sync.OnceValues(s.page)
	return func(ctx *fasthttp.RequestCtx) {
		body, policy := page()
		h := &ctx.Response.Header
		h.SetContentType("text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		ctx.SetBody(body)
	}
}

// page makes the page and its Content-Security-Policy.
func (s Source) page() (body []byte, policy string) {
	style, script := bytes.Clone(baseStyle), s.script()
	if s.Live {
		style = append(style, liveStyle...)
	}
	style = append(style, s.Style...)
	body = bytes.Replace(frame, []byte("/*body*/"), s.HTML, 1)
	body = bytes.Replace(body, []byte("/*heading*/"), []byte(html.EscapeString(s.Title)), 1)
	body = bytes.Replace(body, []byte("/*style*/"), style, 1)
	body = bytes.Replace(body, []byte("/*models*/"), nav(s.Models), 1)
	for name, text := range s.Texts {
		body = bytes.ReplaceAll(body, []byte("/*"+name+"*/"), []byte(html.EscapeString(text)))
	}
	body = bytes.Replace(body, []byte("/*script*/"), script, 1)
	policy = "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; " +
		"script-src " + digest(script) + "; style-src " + digest(style) + "; img-src data:"
	if s.Media {
		policy += " blob: *; media-src * data: blob:"
	}
	return body, policy
}

func (s Source) script() []byte {
	var joined bytes.Buffer
	joined.WriteString("\"use strict\";\n(() => {\n")
	add := func(from fs.FS, name string) {
		text, _ := fs.ReadFile(from, "scripts/"+name+".js") // the pages' tests compare the names with the folders
		joined.Write(text)
	}
	for _, name := range baseNames {
		add(baseScripts, name)
	}
	for _, name := range s.Names {
		add(s.Scripts, name)
	}
	joined.WriteString("})();\n")
	return joined.Bytes()
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
