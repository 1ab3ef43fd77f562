package oip

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

const contentJSON = "application/json"

// handlers are the handlers of the protocol's routes.
type handlers struct{ models protocol.Models }

// New returns the protocol for these models.
func New(models protocol.Models) protocol.Protocol {
	h := &handlers{models}
	return protocol.Protocol{
		Name: protocol.OIP,
		Routes: []protocol.Route{
			{Method: fasthttp.MethodGet, Path: "/v2/health/live", Handle: h.live},
			{Method: fasthttp.MethodGet, Path: "/v2/health/ready", Handle: h.ready},
		},
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
	for _, m := range h.models.List() {
		if m.Ready() != nil {
			answer(x.RequestCtx, fasthttp.StatusServiceUnavailable, `{"ready":false}`)
			return
		}
	}
	answer(x.RequestCtx, fasthttp.StatusOK, `{"ready":true}`)
}

func answer(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.SetBodyString(body)
}

// statuses are the HTTP statuses of errors.
var statuses = map[protocol.Kind]int{
	protocol.BadInput: fasthttp.StatusBadRequest,
	protocol.Unknown:  fasthttp.StatusNotFound,
	protocol.Failed:   fasthttp.StatusInternalServerError,
	protocol.NoPlace:  fasthttp.StatusTooManyRequests,
	protocol.Waited:   fasthttp.StatusServiceUnavailable,
	protocol.NotReady: fasthttp.StatusServiceUnavailable,
	protocol.TooLarge: fasthttp.StatusRequestEntityTooLarge,
	protocol.Internal: fasthttp.StatusInternalServerError,
}

// refuse answers with an error.
func refuse(ctx *fasthttp.RequestCtx, err *protocol.Error) {
	if seconds := err.RetryAfterSeconds(); seconds > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(seconds))
	}
	body := append(rawjson.AppendQuoted([]byte(`{"error":`), err.Error()), '}')
	answer(ctx, statuses[err.Kind], string(body))
}
