package fleet

import (
	"embed"
	"encoding/json"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/web"
)

//go:embed page.html
var body []byte

//go:embed style.css
var style []byte

//go:embed scripts/*.js
var scripts embed.FS

// State is what the page shows.
type State struct {
	Models []Model `json:"models"`
	// Error says why there are no models, or not all; "" means nothing is wrong.
	Error string `json:"error,omitempty"`
}

// Model is a model that has a job queue.
type Model struct {
	Name     string `json:"name"`
	Docs     string `json:"docs"`            // address of its page, relative to the view's
	Error    string `json:"error,omitempty"` // why its queue cannot be used
	Waiting  int    `json:"waiting"`         // jobs that no server has got yet
	Running  int    `json:"running"`         // jobs that run, as the servers said
	Stored   int    `json:"stored"`          // jobs that wait or run
	Capacity int64  `json:"capacity"`        // bound of Stored
	Dead     int    `json:"dead"`            // dead letters
	// OldestWaiting is for how many seconds the oldest waiting job has waited; nil means none waits.
	OldestWaiting *float64 `json:"oldest_waiting,omitempty"`
	Servers       []Server `json:"servers"`
}

// Server is a server that has reported in the last 15 s.
type Server struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots"`
	Free     int    `json:"free"`
	Running  int    `json:"running"`
	Draining bool   `json:"draining"`
	Version  string `json:"version"` // of Pinion
	// Versions are the versions of the model that it has, and the slots of each; nil means the model has none.
	Versions map[string]int `json:"versions,omitempty"`
}

// View is the live view.
type View struct {
	read func() State

	mu   sync.Mutex
	at   time.Time // when the answer was read
	text []byte
}

// New returns a view of what read returns.
func New(read func() State) *View { return &View{read: read} }

// scriptNames returns the scripts in the order in which they run.
func scriptNames() []string { return []string{"models", "start"} }

// Page answers GET /dashboard.
func (v *View) Page() fasthttp.RequestHandler {
	return web.Handler(web.Source{Title: "Fleet: live view", HTML: body, Style: style, Scripts: scripts, Names: scriptNames(), Live: true})
}

// Data returns the routes that have data, by path.
func (v *View) Data() map[string]fasthttp.RequestHandler {
	return map[string]fasthttp.RequestHandler{"/dashboard/fleet": v.state}
}

// readEvery is how old an answer may be.
const readEvery = time.Second

func (v *View) state(ctx *fasthttp.RequestCtx) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.at) > readEvery {
		v.text, _ = json.Marshal(v.read()) // of plain values
		v.at = time.Now()
	}
	ctx.Response.Header.SetContentType("application/json")
	ctx.Response.Header.Set("Cache-Control", "no-store")
	ctx.SetBody(v.text)
}
