package page

import (
	"bytes"
	"embed"
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/web"
)

//go:embed page.html
var body []byte

//go:embed style.css
var style []byte

//go:embed scripts/*.js
var scripts embed.FS

// scriptNames returns the scripts in the order in which they run, after those of package web. Only the last one runs
// code.
func scriptNames() []string {
	return []string{
		"model", "tabs", "controls", "rows", "files", "capture", "form", "memory", "share", "markdown", "media", "lightbox",
		"zip", "views", "result", "code", "openai", "colors", "chat", "about", "examples", "history", "run", "health",
		"start",
	}
}

// link is the part of the page that leads to the live view.
const link = `    <a class="pill" id="live" href="/*dashboard*/">Live view</a>
`

// helpLink is the part of the page that leads to the documents.
const helpLink = `    <a class="pill" id="help" href="/*help*/" target="_blank" rel="noreferrer">Help</a>
`

// Options of the page.
type Options struct {
	// Model is the model's name.
	Model string
	// Dashboard is the address of the live view, relative to the page's; "" means the page has no link to it.
	Dashboard string
	// Help is the address of the document about the page; "" means the page has no link to it.
	Help string
	// Root is the way from the page's folder to the server's root, as "/../.."; "" means it is the root.
	Root string
	// Models are links to the pages of all models; nil means there is one.
	Models []web.Link
	// Calls means that the model may call others, though Models names none: those of another server.
	Calls bool
	// Dir is the model's folder, and Logo a picture in it; "" means none.
	Dir, Logo string
	// OpenAI is the model's name at OpenAI's API; "" means the server does not serve it.
	OpenAI string
}

// Handler answers with the page of a model.
func Handler(o Options) fasthttp.RequestHandler {
	html := body
	if o.Dashboard == "" {
		html = bytes.Replace(body, []byte(link), nil, 1)
	}
	if o.Help == "" {
		html = bytes.Replace(html, []byte(helpLink), nil, 1)
	}
	return web.Handler(web.Source{
		Title: o.Model, HTML: html, Style: style, Scripts: scripts, Names: scriptNames(), Media: true,
		Texts: map[string]string{
			"about": strconv.FormatBool(o.Dir != ""),
			"calls": strconv.FormatBool(o.Calls || o.Models != nil),
			"title": o.Model, "dashboard": o.Dashboard, "openai": o.OpenAI, "root": o.Root, "help": o.Help,
		},
		Models: o.Models,
	})
}
