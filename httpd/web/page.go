package web

import (
	"bytes"
	"embed"
	"io/fs"
	"strconv"

	"github.com/valyala/fasthttp"
)

//go:embed page/page.html
var pageBody []byte

//go:embed page/style.css
var pageStyle []byte

//go:embed page/scripts/*.js
var pageScripts embed.FS

// pageNames returns the page's scripts in the order in which they run, after the shared ones. Only the last one runs
// code.
func pageNames() []string {
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

// PageOptions are those of the page at /docs.
type PageOptions struct {
	// Model is the model's name.
	Model string
	// Dashboard is the address of the live view, relative to the page's; "" means the page has no link to it.
	Dashboard string
	// Help is the address of the document about the page; "" means the page has no link to it.
	Help string
	// Root is the way from the page's folder to the server's root, as "/../.."; "" means it is the root.
	Root string
	// Models are links to the pages of all models; nil means there is one.
	Models []Link
	// Calls means that the model may call others, though Models names none: those of another server.
	Calls bool
	// Dir is the model's folder, and Logo a picture in it; "" means none.
	Dir, Logo string
	// OpenAI is the model's name at OpenAI's API; "" means the server does not serve it.
	OpenAI string
}

// Page answers with the page of a model.
func Page(o PageOptions) fasthttp.RequestHandler {
	html := pageBody
	if o.Dashboard == "" {
		html = bytes.Replace(pageBody, []byte(link), nil, 1)
	}
	if o.Help == "" {
		html = bytes.Replace(html, []byte(helpLink), nil, 1)
	}
	scripts, _ := fs.Sub(pageScripts, "page") // it is a valid path
	return Handler(Source{
		Title: o.Model, HTML: html, Style: pageStyle, Scripts: scripts, Names: pageNames(), Media: true,
		Texts: map[string]string{
			"about": strconv.FormatBool(o.Dir != ""),
			"calls": strconv.FormatBool(o.Calls || o.Models != nil),
			"title": o.Model, "dashboard": o.Dashboard, "openai": o.OpenAI, "root": o.Root, "help": o.Help,
		},
		Models: o.Models,
	})
}
