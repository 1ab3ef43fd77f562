package httpd

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/runtime/health"
	"pinion/runtime/logtext"
	"pinion/runtime/nearest"
)

const (
	pathModels = "/models"
	pathModel  = pathModels + "/{name}"
)

// ModelEntry is a model in the answer to GET /models.
type ModelEntry struct {
	Name  string `json:"name"`
	State string `json:"state"` // unloaded, loading, ready, unloading, failed or defunct
	// Default means that the model also answers at the root.
	Default   bool         `json:"default"`
	SchemaURL string       `json:"schema_url"`
	Load      string       `json:"load"`  // when it is loaded: startup, on-demand or manual
	Slots     int          `json:"slots"` // how many predictions can run at a time
	Queue     health.Queue `json:"queue"`
	// MemoryBytes is the resident memory of its workers.
	MemoryBytes int64  `json:"memory_bytes"`
	Error       string `json:"error,omitempty"` // why it failed
	*Traffic           // nil means it has no versions
	// ModelName and ModelURL are SageMaker's words for the name and the folder.
	ModelName string `json:"modelName"`
	ModelURL  string `json:"modelUrl"`
}

// modelList is the answer to GET /models.
type modelList struct {
	Models []ModelEntry `json:"models"`
}

func (a *api) entry() ModelEntry {
	e := a.model.Entry()
	e.Name, e.ModelName = a.model.Name, a.model.Name
	all := a.s.all() // without a, if it is just removed
	e.Default = len(all) > 0 && a == all[0] && !a.model.Named
	e.SchemaURL = a.prefix + "/openapi.json"
	return e
}

// listModels answers GET /models.
func (s *Server) listModels(ctx *fasthttp.RequestCtx) {
	list := modelList{Models: []ModelEntry{}}
	for _, a := range s.all() {
		list.Models = append(list.Models, a.entry())
	}
	s.out.EncodeSeldom(ctx, list)
}

// showModel answers GET /models/{name}.
func (s *Server) showModel(ctx *fasthttp.RequestCtx) {
	if a := s.named(ctx); a != nil {
		s.out.EncodeSeldom(ctx, a.entry())
	}
}

// routeModel passes a request on to the routes of the model that its path names.
func (s *Server) routeModel(ctx *fasthttp.RequestCtx) {
	if a := s.named(ctx); a != nil {
		a.router.Handler(ctx)
	}
}

// named returns the routes of the model that a path names. nil means there is none, and the request is answered.
func (s *Server) named(ctx *fasthttp.RequestCtx) *api {
	segment, _ := ctx.UserValue("name").(string)
	name := unescaped(segment)
	if a := s.find(name); a != nil {
		return a
	}
	var names []string
	for _, a := range s.all() {
		names = append(names, a.model.Name)
	}
	s.out.Detail(ctx, fasthttp.StatusNotFound,
		fmt.Sprintf("This server has no model %q. It has %s%s", logtext.Clip(name),
			cmp.Or(strings.Join(names, ", "), "none"), nearest.Hint(name, names)))
	return nil
}

// all returns the models below /models.
func (s *Server) all() []*api { return *s.models.Load() }

// within returns the part of a path below /models/NAME, and below /functions/NAME, or the whole path.
func (s *Server) within(path string) string {
	path = s.withinModel(path)
	if rest, ok := strings.CutPrefix(path, pathFunctions+"/"); ok {
		if _, rest, ok = strings.Cut(rest, "/"); ok {
			return "/" + rest
		}
	}
	return path
}

func (s *Server) withinModel(path string) string {
	rest, ok := strings.CutPrefix(path, pathModels+"/")
	if !ok {
		return path
	}
	name, rest, ok := strings.Cut(rest, "/")
	if !ok || s.find(unescaped(name)) == nil {
		return path
	}
	return "/" + rest
}

// find returns the routes of a model, or nil.
func (s *Server) find(name string) *api {
	for _, a := range s.all() {
		if a.model.Name == name {
			return a
		}
	}
	return nil
}
