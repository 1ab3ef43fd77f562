package server

import (
	"context"
	"fmt"

	"pinion/httpd"
	"pinion/runtime/health"
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
	return func() httpd.Service {
		m := f.first()
		if v := f.versionsOf(m); v != nil {
			return v.atRoot
		}
		return m.atRoot
	}
}

// rootQueue is the job queue at the root of the server, or nil.
func (f *Server) rootQueue() (func() httpd.JobQueue, httpd.QueueOptions) {
	queue, queueing := f.first().httpQueue(false)
	if queue == nil || !f.several {
		return queue, queueing
	}
	return func() httpd.JobQueue { return f.first().queue.member }, f.queueing(f.first)
}

// Health is the default model's, with the status of each model.
func (b rootBackend) Health(ctx context.Context) health.Document {
	h := b.Service.Health(ctx)
	h.Models = map[string]string{}
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
