package httpd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/answers"
	"pinion/httpd/openapi"
	"pinion/httpd/place"
	"pinion/runtime/health"
)

// healthBound is how long the model's health check may take, by the HTTP contract.
const healthBound = 5 * time.Second

// health always answers 200; the status is in the body.
func (a *api) health(ctx *fasthttp.RequestCtx) {
	bound, cancel := context.WithTimeout(context.Background(), healthBound)
	defer cancel()
	h := a.to.Health(bound)
	if run := a.runExample(ctx); run != nil {
		if h.Example = run; !run.Healthy() {
			h.Status = health.Unhealthy
		}
	}
	if !a.s.guard.Authorized(&ctx.Request.Header) {
		h = withoutDetails(h)
	}
	a.s.out.EncodeSeldom(ctx, h)
}

// exampleBound bounds a run of the model's example.
const exampleBound = time.Minute

// runExample runs the model's example if the request has the parameter "example"; else it returns nil. It requires the
// same permission as a prediction.
func (a *api) runExample(ctx *fasthttp.RequestCtx) *health.ExampleRun {
	if !ctx.QueryArgs().Has("example") || !a.s.guard.Authorized(&ctx.Request.Header) || a.s.guard.Foreign(&ctx.Request.Header) {
		return nil
	}
	bound, cancel := context.WithTimeout(context.Background(), exampleBound)
	defer cancel()
	return a.to.Model().RunExample(bound)
}

func (a *api) openAPI(ctx *fasthttp.RequestCtx) {
	model, ok := a.to.Model().OpenAPI()
	if err := error(place.ErrNoModel); !ok && errors.Is(a.to.Ready(), err) {
		a.s.out.Error(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	if !ok {
		answers.Literal(ctx, fasthttp.StatusServiceUnavailable, `{"error":"OpenAPI schema not available"}`)
		return
	}
	answers.JSON(ctx, fasthttp.StatusOK, a.document(model))
}

// completed is a model's document, and the document that this server made of it.
type completed struct{ model, whole []byte }

// document returns the model's document with this server's additions. It is made at the first request.
func (a *api) document(model []byte) []byte {
	if c := a.completed.Load(); c != nil && bytes.Equal(c.model, model) {
		return c.whole
	}
	described := openapi.Server{
		Title: a.model.Title, Docs: a.model.Docs != nil, Reload: a.model.Reload != nil, Prefix: a.prefix,
		Tokens: a.s.opt.Tokens != nil, Public: slices.Concat(access.Probes[:], a.s.protocols.probes(), a.s.opt.Public),
	}
	if a.prefix == "" {
		described.Metrics, described.Shutdown, described.Models = a.s.opt.Metrics != nil, a.s.opt.Shutdown != nil,
			len(a.s.all()) > 1
		described.Routes = DocumentRoutes(a.s.opt.Protocols, model)
	}
	whole, err := openapi.Complete(model, described)
	if err != nil { // the model brought an invalid document
		a.s.out.Log.Error("the OpenAPI document is served as it is", slog.Any("error", err))
		whole = model
	}
	a.completed.Store(&completed{model, whole})
	return whole
}

// shutdown answers before the server ends, because Shutdown waits for the requests in flight.
func (a *api) shutdown(ctx *fasthttp.RequestCtx) {
	if !a.s.opt.ShutdownFromAny && !access.Local(ctx) {
		a.s.out.Detail(ctx, fasthttp.StatusForbidden,
			"Only a program on the server's own machine may shut it down, and not through a proxy. "+
				"To allow every client that, start the server with --shutdown-from any")
		return
	}
	answers.Literal(ctx, fasthttp.StatusOK, "{}")
	a.s.opt.Shutdown()
}

// livez answers 200 unless the server is defunct.
func (a *api) livez(ctx *fasthttp.RequestCtx) { a.s.out.Probe(ctx, a.to.Defunct()) }

// readyz answers 200 if predictions are accepted, or says why not.
func (a *api) readyz(ctx *fasthttp.RequestCtx) {
	err := a.to.Ready()
	if err == nil {
		if run := a.runExample(ctx); run != nil && !run.Healthy() {
			err = errors.New("the model's example ended as " + run.Status + ": " + run.Error)
		}
	}
	a.s.out.Probe(ctx, err)
}

// withoutDetails returns the health that a client without a token may see.
func withoutDetails(h health.Document) health.Document {
	out := health.Document{Status: h.Status, Version: map[string]string{}}
	if h.Setup != nil {
		setup := *h.Setup
		setup.Logs, setup.LastLine, setup.Percent = "", "", nil
		out.Setup = &setup
	}
	return out
}
