package dashboard

import (
	"bufio"
	"cmp"
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/web"
	"pinion/runtime/predict"
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
		"words", "charts", "problems", "summary", "workers", "models", "predictions", "details", "log", "feed", "start",
	}
}

// Page answers GET /dashboard, with links to the live views of all models; nil means there is one.
func (v *View) Page(models []web.Link) fasthttp.RequestHandler {
	return web.Handler(web.Source{
		Title: v.o.Model + ": live view", HTML: body, Style: style, Scripts: scripts, Names: scriptNames(),
		Texts:  map[string]string{"title": v.o.Model},
		Models: models, Live: true,
	})
}

// Actions returns the routes of POST, by path, for those who may cancel predictions.
func (v *View) Actions() map[string]fasthttp.RequestHandler {
	return map[string]fasthttp.RequestHandler{"/dashboard/stack": v.stack}
}

// Data returns the routes that have data, by path.
func (v *View) Data() map[string]fasthttp.RequestHandler {
	return map[string]fasthttp.RequestHandler{
		"/dashboard/events": v.events, "/dashboard/prediction": v.prediction,
		"/dashboard/search": v.search,
	}
}

// events answers with server-sent events until the view is closed. An HTTP/1.0 client cannot be sent an answer in
// parts: it gets the first events, and asks again.
func (v *View) events(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.SetContentType("text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would otherwise hold the events back
	if ctx.IsHead() {
		return
	}
	if !ctx.Request.Header.IsHTTP11() {
		v.mu.Lock()
		defer v.mu.Unlock()
		pages := v.whole()
		ctx.SetBody(append(pages[0], pages[1]...))
		return
	}
	follower := v.follow()
	if follower == nil {
		refuse(ctx, fasthttp.StatusServiceUnavailable,
			"The live view has too many readers, or the memory budget no room for one, or the server is stopping")
		return
	}
	ctx.Response.ImmediateHeaderFlush = true
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer v.leave(follower)
		for text := range follower {
			_, err := w.Write(text)
			err = cmp.Or(err, w.Flush())
			v.o.Memory.Free(int64(len(text)))
			if err != nil {
				return
			}
		}
	})
}

// maxLogs is how many bytes of the end of a prediction's logs are sent, maxContent how many of its input and its
// output.
const (
	maxLogs    = 256 << 10
	maxContent = 256 << 10
)

// details is the answer of prediction. Content that is too large is left out, and its size is in Omitted.
type details struct {
	prediction
	Error   string          `json:"error,omitempty"` // the whole text
	Logs    string          `json:"logs"`
	Cut     int             `json:"cut,omitempty"` // bytes of the logs that are left out
	Metrics json.RawMessage `json:"metrics,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Omitted map[string]int  `json:"omitted,omitempty"`
	predict.Calls
	// Partial means that the server has no more than a summary of the prediction.
	Partial bool `json:"partial,omitempty"`
}

// prediction answers with the details of ?kind=…&id=….
func (v *View) prediction(ctx *fasthttp.RequestCtx) {
	kind, id, ok := named(ctx)
	if !ok {
		return
	}
	d, ok := v.find(kind, id)
	if !ok {
		refuse(ctx, fasthttp.StatusNotFound, "The server no longer has this prediction")
		return
	}
	ctx.Response.Header.Set("Cache-Control", "no-store")
	answer(ctx, d)
}

// named returns the prediction that ?kind=…&id=… names; false means that none is named and the request has been
// refused.
func named(ctx *fasthttp.RequestCtx) (predict.Kind, string, bool) {
	kind := slices.Index(kinds[:], string(ctx.QueryArgs().Peek("kind")))
	id := string(ctx.QueryArgs().Peek("id"))
	if kind < 0 || id == "" {
		refuse(ctx, fasthttp.StatusBadRequest, "Name a prediction, as ?kind=prediction&id=ID; kind is prediction or training")
		return 0, "", false
	}
	return predict.Kind(kind), id, true
}

// stack answers with what ?kind=…&id=… does now: {"stack": text}.
func (v *View) stack(ctx *fasthttp.RequestCtx) {
	kind, id, ok := named(ctx)
	if !ok {
		return
	}
	text, err := v.o.Stack(ctx, kind, id)
	if err != nil {
		refuse(ctx, fasthttp.StatusConflict, "Cannot read the stack: "+err.Error())
		return
	}
	ctx.Response.Header.Set("Cache-Control", "no-store")
	answer(ctx, map[string]string{"stack": text})
}

func (v *View) find(kind predict.Kind, id string) (details, bool) {
	p, rec, ok := v.o.Find(kind, id)
	if !ok {
		s, ok := v.o.Summary(kind, id)
		if !ok {
			return details{}, false
		}
		d := detailsOf(&s)
		d.Partial = true
		return d, true
	}
	defer p.Release()
	s := predict.Summary{Record: rec, Mode: p.Request.Mode, TraceParent: p.Request.Parent()}
	v.o.Locate(&s)
	d := detailsOf(&s)
	d.Calls = p.Calls(time.Now())
	d.Metrics = rec.MetricsSoFar()
	if !v.o.Content {
		return d, true
	}
	d.Input = d.content("input", rec.Input)
	output := rec.Output
	if rec.Open {
		output = append(slices.Clone(output), ']')
	}
	d.Output = d.content("output", output)
	return d, true
}

func detailsOf(s *predict.Summary) details {
	logs := s.Logs[max(0, len(s.Logs)-maxLogs):]
	return details{
		prediction: rowOf(s), Error: s.Error, Logs: strings.ToValidUTF8(string(logs), "\uFFFD"), Cut: len(s.Logs) - len(logs),
	}
}

func (d *details) content(name string, json []byte) []byte {
	if len(json) <= maxContent {
		return slices.Clone(json)
	}
	if d.Omitted == nil {
		d.Omitted = map[string]int{}
	}
	d.Omitted[name] = len(json)
	return nil
}
