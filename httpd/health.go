package httpd

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/openapi"
)

// healthBound is how long the model's health check may take, by the HTTP contract.
const healthBound = 5 * time.Second

// health always answers 200; the status is in the body.
func (s *Server) health(ctx *fasthttp.RequestCtx) {
	bound, cancel := context.WithTimeout(context.Background(), healthBound)
	defer cancel()
	h := s.svc.Health(bound)
	if run := s.runExample(ctx); run != nil {
		if h.Example = run; !run.healthy() {
			h.Status = "UNHEALTHY"
		}
	}
	if !s.authorized(&ctx.Request.Header) {
		h = withoutDetails(h)
	}
	s.encodeSeldom(ctx, fasthttp.StatusOK, h)
}

// exampleBound bounds a run of the model's example.
const exampleBound = time.Minute

// runExample runs the model's example if the request has the parameter "example"; else it returns nil. It requires the same
// permission as a prediction.
func (s *Server) runExample(ctx *fasthttp.RequestCtx) *ExampleRun {
	if !ctx.QueryArgs().Has("example") || !s.authorized(&ctx.Request.Header) || s.foreign(&ctx.Request.Header) {
		return nil
	}
	bound, cancel := context.WithTimeout(context.Background(), exampleBound)
	defer cancel()
	return s.svc.RunExample(bound)
}

func (s *Server) openAPI(ctx *fasthttp.RequestCtx) {
	model, ok := s.svc.OpenAPI()
	if !ok {
		literal(ctx, fasthttp.StatusServiceUnavailable, `{"error":"OpenAPI schema not available"}`)
		return
	}
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.Response.SetBodyRaw(s.document(model))
}

// completed is a model's document, and the document that this server made of it.
type completed struct{ model, whole []byte }

// document returns the model's document with this server's additions. It is made at the first request.
func (s *Server) document(model []byte) []byte {
	if c := s.completed.Load(); c != nil && bytes.Equal(c.model, model) {
		return c.whole
	}
	whole, err := openapi.Complete(model, openapi.Server{
		Title: s.opt.ModelName, Docs: s.opt.Docs != nil, Metrics: s.opt.Metrics != nil, Reload: s.opt.Reload != nil, Shutdown: !s.opt.NoShutdown,
		Tokens: s.opt.Tokens != nil, Public: slices.Concat(probes[:], s.protocols.probes(), s.opt.Public),
		Routes: DocumentRoutes(s.opt.Protocols, model),
	})
	if err != nil { // the model brought an invalid document
		s.log.Error("the OpenAPI document is served as it is", slog.Any("error", err))
		whole = model
	}
	s.completed.Store(&completed{model, whole})
	return whole
}

// shutdown answers before the server ends, because Shutdown waits for the requests in flight.
func (s *Server) shutdown(ctx *fasthttp.RequestCtx) {
	if !s.opt.ShutdownFromAny && !local(ctx) {
		s.detail(ctx, fasthttp.StatusForbidden, "Only a program on the server's own machine may shut it down, and not through a proxy. "+
			"To allow every client that, start the server with --shutdown-from any")
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
	s.svc.Shutdown()
}

// livez answers 200 unless the server is defunct.
func (s *Server) livez(ctx *fasthttp.RequestCtx) {
	if err := s.svc.Defunct(); err != nil {
		s.detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
}

// readyz answers 200 if predictions are accepted, or says why not.
func (s *Server) readyz(ctx *fasthttp.RequestCtx) {
	if err := s.svc.Ready(); err != nil {
		s.detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	if run := s.runExample(ctx); run != nil && !run.healthy() {
		s.detail(ctx, fasthttp.StatusServiceUnavailable, "the model's example ended as "+run.Status+": "+run.Error)
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
}
