package server

import (
	"context"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/httpd/place"
	"pinion/runtime/health"
	"pinion/runtime/predict"
)

// rootRoute is the route at the root of a server or gateway of several models: that of the default model, which may be
// another tomorrow.
type rootRoute struct {
	place.Prober
	first   func() place.Route // of the default model; nil means there is none
	refusal func() error       // where there is none
	none    requestChecker     // answers then
}

// Model implements place.Route.
func (r *rootRoute) Model() place.Service {
	if first := r.first(); first != nil {
		return first.Model()
	}
	return r.none
}

// Holder implements place.Route.
func (r *rootRoute) Holder(kind predict.Kind, id string) place.Service {
	if first := r.first(); first != nil {
		return first.Holder(kind, id)
	}
	return r.none
}

// Assign implements place.Route.
func (r *rootRoute) Assign(req predict.Request) (*predict.Prediction, error) {
	if first := r.first(); first != nil {
		return first.Assign(req)
	}
	return nil, r.refusal()
}

// root returns the route at the root of the server.
func (f *Server) root() place.Route {
	if !f.several {
		return f.models.first().target
	}
	return &rootRoute{rootProber{f}, f.models.firstRoute, noModel, newRequestChecker(f.files, f.log)}
}

func noModel() error { return place.ErrNoModel }

// rootQueue returns the job queue at the root of the server, or nil.
func (f *Server) rootQueue() (func() place.Queue, place.QueueOptions) {
	if !f.several {
		return f.models.first().httpQueue("")
	}
	if !f.s.Jobs.NATS.On() {
		return nil, place.QueueOptions{}
	}
	return func() place.Queue {
		if m := f.models.first(); m != nil {
			return m.queue.member
		}
		return noQueue{noModel}
	}, f.queueing(f.models.first)
}

// byFirst answers as the default model does at that time.
func (f *Server) byFirst(handler func(*servedModel) fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if m := f.models.first(); m != nil {
			handler(m)(ctx)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString(place.ErrNoModel.Error())
	}
}

// rootProber says how a server of several models is.
type rootProber struct{ server *Server }

// Health returns the default model's, with the status of each model. Without one it is that of the server alone.
func (p rootProber) Health(ctx context.Context) health.Document {
	first := p.server.models.firstRoute()
	if first == nil {
		h := health.Document{
			Status:  health.Unloaded,
			Version: map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
		}
		p.server.addHealth(&h)
		return h
	}
	h := first.Health(ctx)
	h.Models = map[string]health.Status{}
	for _, m := range p.server.models.all() {
		h.Models[m.pathName()] = m.Service.Glance().Status
	}
	return h
}

// Ready implements place.Prober.
func (p rootProber) Ready() error { return p.server.models.ready() }

// Defunct says why no model can recover.
func (p rootProber) Defunct() (err error) {
	for _, m := range p.server.models.all() {
		if err = m.Service.Defunct(); err == nil {
			return nil
		}
	}
	return err
}
