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

// rootBackend answers at the root of a server of several models: for the default one, and for the server.
type rootBackend struct {
	httpd.Service // of the default model
	server        *Server
}

// root returns what answers at the root of the server: with several models the default one may be another tomorrow.
func (f *Server) root() func() httpd.Service {
	if !f.several {
		return httpd.Always(f.first().backend())
	}
	var none httpd.Service
	if f.read.Folder != nil {
		none = noModel{newRequestChecker(f.files, f.log), f}
	}
	return func() httpd.Service {
		m := f.first()
		if m == nil {
			return none
		}
		if v := f.versionsOf(m); v != nil {
			return v.atRoot
		}
		return m.atRoot
	}
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
func (b rootBackend) Health(ctx context.Context) health.Document {
	h := b.Service.Health(ctx)
	h.Models = map[string]health.Status{}
	for _, m := range b.server.all() {
		h.Models[m.pathName()] = m.Service.Glance().Status
	}
	return h
}

// Ready says why the server is not ready: a first setup goes on, or no model takes predictions.
func (b rootBackend) Ready() error { return b.server.ready() }

// Defunct says why no model can recover.
func (b rootBackend) Defunct() (err error) {
	for _, m := range b.server.all() {
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
