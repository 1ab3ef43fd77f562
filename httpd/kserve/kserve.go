package kserve

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/instances"
	"pinion/httpd/modellist"
	"pinion/httpd/protocol"
)

// New returns the protocol for these models.
func New(models protocol.Models) protocol.Protocol {
	predict := func(x *protocol.Exchange) {
		m, err := models.Find(x.Param("model"), "")
		if err == nil {
			err = instances.Predict(x, m, instances.Name, "inputs")
		}
		if err != nil {
			instances.Refuse(x.RequestCtx, err)
		}
	}
	return protocol.Protocol{
		Name: protocol.KServe,
		Routes: append(modellist.Routes(models, instances.Refuse),
			protocol.Route{Method: fasthttp.MethodPost, Path: "/v1/models/{model}:predict", Handle: predict}),
		Refuse:   instances.Refuse,
		Prefixes: []string{"/v1/models"},
	}
}
