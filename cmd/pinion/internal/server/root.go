package server

import (
	"context"
	"fmt"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/httpd"
	"pinion/runtime/health"
	"pinion/runtime/predict"
)

// rootRoute is the route at the root of a server of several models, of which the default one may be another tomorrow.
type rootRoute struct {
	*Server
	none httpd.Route // while no model is loaded
}

// root returns the route at the root of the server.
func (f *Server) root() httpd.Route {
	if !f.several {
		return httpd.Always(f.first().backend())
	}
	return rootRoute{f, httpd.Always(noModel{newRequestChecker(f.files, f.log), f})}
}

// first returns the route of the default model.
func (r rootRoute) first() httpd.Route {
	m := r.Server.first()
	if m == nil {
		return r.none
	}
	if v := r.versionsOf(m); v != nil {
		return v.answer
	}
	return m.route
}

// Model implements httpd.Route, as do the next two methods.
func (r rootRoute) Model() httpd.Service { return r.first().Model() }

// Holder returns who has a prediction of the default model.
func (r rootRoute) Holder(kind predict.Kind, id string) httpd.Service {
	return r.first().Holder(kind, id)
}

// Assign has a prediction of the default model created.
func (r rootRoute) Assign(req predict.Request) (*predict.Prediction, error) {
	return r.first().Assign(req)
}

// rootQueue returns the job queue at the root of the server, or nil.
func (f *Server) rootQueue() (func() httpd.JobQueue, httpd.QueueOptions) {
	if !f.several {
		return f.first().httpQueue(false)
	}
	if !f.s.Jobs.NATS.On() {
		return nil, httpd.QueueOptions{}
	}
	return func() httpd.JobQueue {
		if m := f.first(); m != nil {
			return m.queue.member
		}
		return noQueue{func() error { return httpd.ErrNoModel }}
	}, f.queueing(f.first)
}

// byFirst answers as the default model does at that time.
func (f *Server) byFirst(handler func(*servedModel) fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if m := f.first(); m != nil {
			handler(m)(ctx)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString(httpd.ErrNoModel.Error())
	}
}

// noModel answers at the root while no model is loaded.
type noModel struct {
	requestChecker // of no model
	server         *Server
}

func (noModel) Create(predict.Request) (*predict.Prediction, error) { return nil, httpd.ErrNoModel }

func (noModel) Ready() error { return httpd.ErrNoModel }

// Health returns the health of the server alone.
func (n noModel) Health(context.Context) health.Document {
	h := health.Document{
		Status:  health.Unloaded,
		Version: map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
	}
	n.server.addHealth(&h)
	return h
}

// Health returns the default model's, with the status of each model.
func (r rootRoute) Health(ctx context.Context) health.Document {
	h := r.first().Health(ctx)
	if len(r.all()) == 0 {
		return h
	}
	h.Models = map[string]health.Status{}
	for _, m := range r.all() {
		h.Models[m.pathName()] = m.Service.Glance().Status
	}
	return h
}

// Ready says why the server is not ready: a first setup goes on, or no model takes predictions.
func (r rootRoute) Ready() error { return r.ready() }

// Defunct says why no model can recover.
func (r rootRoute) Defunct() (err error) {
	for _, m := range r.all() {
		if err = m.Service.Defunct(); err == nil {
			return nil
		}
	}
	return err
}

func (f *Server) ready() error {
	if len(f.all()) == 0 {
		return httpd.ErrNoModel
	}
	var first error
	serves := false
	for _, m := range f.all() {
		err := m.backend().Ready()
		if err == nil {
			serves = true
			continue
		}
		if first == nil {
			first = fmt.Errorf("model %s: %w", m.Name, err)
		}
		if m.Lifecycle.FirstLoadPending() {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	if serves {
		return nil
	}
	return first
}
