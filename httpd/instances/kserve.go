package instances

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
)

// KServe returns the protocol for these models.
func KServe(models protocol.Models) protocol.Protocol {
	predict := func(x *protocol.Exchange) {
		m, err := models.Find(x.Param("model"), "")
		if err == nil {
			err = Predict(x, m, Name, "inputs")
		}
		if err != nil {
			Refuse(x.RequestCtx, err)
		}
	}
	return protocol.Protocol{
		Name: protocol.KServe,
		Routes: append(ModelListRoutes(models, Refuse),
			protocol.Route{Method: fasthttp.MethodPost, Path: "/v1/models/{model}:predict", Handle: predict}),
		Refuse:   Refuse,
		Prefixes: []string{"/v1/models"},
	}
}
