package vertex

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/instances"
	"pinion/httpd/protocol"
)

// Paths are the paths of the routes; "": there is no such route.
type Paths struct {
	Health  string // AIP_HEALTH_ROUTE
	Predict string // AIP_PREDICT_ROUTE
}

// CheckPath refuses what cannot be a route's path.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{}?#") {
		return fmt.Errorf("%q is no path: it begins with /, and has none of { } ? #", path)
	}
	return nil
}

// New returns the protocol for the default model.
func New(models protocol.Models, at Paths) protocol.Protocol {
	p := protocol.Protocol{Name: protocol.Vertex, Refuse: instances.Refuse}
	if at.Health != "" {
		p.Routes = append(p.Routes, protocol.Route{
			Method: fasthttp.MethodGet, Path: at.Health, Document: "vertex health", Replaces: true,
			Handle: func(x *protocol.Exchange) { instances.Health(x, models) },
		})
		p.Probes = []string{at.Health}
	}
	if at.Predict != "" {
		p.Routes = append(p.Routes, protocol.Route{
			Method: fasthttp.MethodPost, Path: at.Predict, Document: "vertex predict", Replaces: true,
			Handle: func(x *protocol.Exchange) {
				if err := instances.Predict(x, models.List()[0], instances.Name); err != nil {
					instances.Refuse(x.RequestCtx, err)
				}
			},
		})
		p.Prefixes = []string{at.Predict}
	}
	return p
}
