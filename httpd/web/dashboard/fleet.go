package dashboard

import (
	"embed"
	"encoding/json"
	"io/fs"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/web"
)

//go:embed fleet/page.html
var fleetBody []byte

//go:embed fleet/style.css
var fleetStyle []byte

//go:embed fleet/scripts/*.js
var fleetScripts embed.FS

// Fleet is what the live view of a gateway shows.
type Fleet struct {
	Models []FleetModel `json:"models"`
	// Error says why there are no models, or not all; "" means nothing is wrong.
	Error string `json:"error,omitempty"`
}

// FleetModel is a model that has a job queue.
type FleetModel struct {
	Name     string `json:"name"`
	Docs     string `json:"docs"`            // address of its page, relative to the view's
	Error    string `json:"error,omitempty"` // why its queue cannot be used
	Waiting  int    `json:"waiting"`         // jobs that no server has got yet
	Running  int    `json:"running"`         // jobs that run, as the servers said
	Stored   int    `json:"stored"`          // jobs that wait or run
	Capacity int64  `json:"capacity"`        // bound of Stored
	Dead     int    `json:"dead"`            // dead letters
	// OldestWaiting is for how many seconds the oldest waiting job has waited; nil means none waits.
	OldestWaiting *float64      `json:"oldest_waiting,omitempty"`
	Servers       []FleetServer `json:"servers"`
}

// FleetServer is a server that has reported in the last 15 s.
type FleetServer struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots"`
	Free     int    `json:"free"`
	Running  int    `json:"running"`
	Draining bool   `json:"draining"`
	Version  string `json:"version"` // of Pinion
	// Versions are the versions of the model that it has, and the slots of each; nil means the model has none.
	Versions map[string]int `json:"versions,omitempty"`
}

// FleetView is the live view of a gateway: the models of the job queues, their servers, and the jobs that wait, run and
// have died. The page asks for the state every two seconds. However many pages are open, NATS is asked at most once a
// second.
type FleetView struct {
	read func() Fleet

	mu   sync.Mutex
	at   time.Time // when the answer was read
	text []byte
}

// NewFleet returns a view of what read returns.
func NewFleet(read func() Fleet) *FleetView { return &FleetView{read: read} }

// fleetScriptNames returns the scripts in the order in which they run.
func fleetScriptNames() []string { return []string{"models", "start"} }

// Page answers GET /dashboard.
func (v *FleetView) Page() fasthttp.RequestHandler {
	folder, _ := fs.Sub(fleetScripts, "fleet") // it is a valid path
	return web.Handler(web.Source{
		Title: "Fleet: live view", HTML: fleetBody, Style: fleetStyle, Scripts: folder, Names: fleetScriptNames(), Live: true,
	})
}

// Data returns the routes that have data, by path.
func (v *FleetView) Data() map[string]fasthttp.RequestHandler {
	return map[string]fasthttp.RequestHandler{"/dashboard/fleet": v.state}
}

// readEvery is how old an answer may be.
const readEvery = time.Second

func (v *FleetView) state(ctx *fasthttp.RequestCtx) {
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
