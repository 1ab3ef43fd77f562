package instances

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
)

// VertexPaths are the paths of the routes; "" means there is no such route.
type VertexPaths struct {
	Health  string // AIP_HEALTH_ROUTE
	Predict string // AIP_PREDICT_ROUTE
}

// CheckVertexPath refuses what cannot be a route's path.
func CheckVertexPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{}?#") {
		return fmt.Errorf("invalid path %q: must begin with / and have none of { } ? #", path)
	}
	return nil
}

// Vertex returns the protocol for the default model.
func Vertex(models protocol.Models, at VertexPaths) protocol.Protocol {
	p := protocol.Protocol{Name: protocol.Vertex, Refuse: Refuse}
	if at.Health != "" {
		p.Routes = append(p.Routes, protocol.Route{
			Method: fasthttp.MethodGet, Path: at.Health, Document: "vertex health", Replaces: true,
			Handle: func(x *protocol.Exchange) { Health(x, models) },
		})
		p.Probes = []string{at.Health}
	}
	if at.Predict != "" {
		p.Routes = append(p.Routes, protocol.Route{
			Method: fasthttp.MethodPost, Path: at.Predict, Document: "vertex predict", Replaces: true,
			Handle: func(x *protocol.Exchange) {
				m, err := defaultModel(models)
				if err == nil {
					err = Predict(x, m, Name)
				}
				if err != nil {
					Refuse(x.RequestCtx, err)
				}
			},
		})
		p.Prefixes = []string{at.Predict}
	}
	return p
}
