package oip

import (
	"slices"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
)

const contentJSON = "application/json"

// handlers are the handlers of the protocol's routes.
type handlers struct {
	models  protocol.Models
	version string // the server's
}

// New returns the protocol for these models. version is the server's.
func New(models protocol.Models, version string) protocol.Protocol {
	h := &handlers{models, version}
	get, post := fasthttp.MethodGet, fasthttp.MethodPost
	routes := []protocol.Route{
		{Method: get, Path: "/v2", Handle: h.server},
		{Method: get, Path: "/v2/health/live", Handle: h.live},
		{Method: get, Path: "/v2/health/ready", Handle: h.ready},
		{Method: post, Path: "/v2/repository/index", Handle: h.refusing((*handlers).index)},
		{Method: post, Path: "/v2/repository/models/{model}/load", Handle: h.refusing((*handlers).load)},
		{Method: post, Path: "/v2/repository/models/{model}/unload", Handle: h.refusing((*handlers).unload)},
	}
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		routes = append(routes,
			protocol.Route{Method: get, Path: path, Handle: h.refusing((*handlers).metadata)},
			protocol.Route{Method: get, Path: path + "/ready", Handle: h.refusing((*handlers).modelReady)},
			protocol.Route{Method: post, Path: path + "/infer", Handle: h.refusing((*handlers).infer)},
			protocol.Route{Method: post, Path: path + "/generate", Handle: h.refusing((*handlers).generate)},
			protocol.Route{Method: post, Path: path + "/generate_stream", Handle: h.refusing((*handlers).generateStream)},
		)
	}
	return protocol.Protocol{
		Name:     protocol.OIP,
		Routes:   routes,
		Refuse:   refuse,
		Prefixes: []string{"/v2"},
		Probes:   []string{"/v2/health/live", "/v2/health/ready"},
	}
}

// live answers as long as the server runs.
func (h *handlers) live(x *protocol.Exchange) {
	answer(x.RequestCtx, fasthttp.StatusOK, `{"live":true}`)
}

// ready answers 200 if every model takes predictions.
func (h *handlers) ready(x *protocol.Exchange) {
	if !Ready(h.models) {
		answer(x.RequestCtx, fasthttp.StatusServiceUnavailable, `{"ready":false}`)
		return
	}
	answer(x.RequestCtx, fasthttp.StatusOK, `{"ready":true}`)
}

// Ready reports whether every model takes predictions.
func Ready(models protocol.Models) bool {
	return !slices.ContainsFunc(models.List(), func(m *protocol.Model) bool { return m.Ready() != nil })
}
