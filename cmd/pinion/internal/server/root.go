package server

import (
	"context"
	"fmt"

	"pinion/httpd"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// rootBackend answers at the root of a server of several models: for the default one, which may be another tomorrow.
type rootBackend struct{ server *Server }

var _ httpd.Service = rootBackend{}

// root is what answers at the root of the server.
func (f *Server) root() httpd.Service {
	if !f.several {
		return f.first().backend()
	}
	return rootBackend{f}
}

// first is the default model, or its versions.
func (b rootBackend) first() httpd.Service {
	m := b.server.first()
	if v := b.server.versionsOf(m); v != nil {
		return anyVersion{v}
	}
	return m.backend()
}

func (b rootBackend) Create(req predict.Request) (*predict.Prediction, error) {
	return b.first().Create(req)
}

func (b rootBackend) NewAttachments() request.Attachments { return b.first().NewAttachments() }

func (b rootBackend) Find(kind predict.Kind, id string) *predict.Prediction {
	return b.first().Find(kind, id)
}

func (b rootBackend) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	return b.first().Result(kind, id)
}

func (b rootBackend) Cancel(kind predict.Kind, id string) bool { return b.first().Cancel(kind, id) }

func (b rootBackend) RunExample(ctx context.Context) *httpd.ExampleRun {
	return b.first().RunExample(ctx)
}

func (b rootBackend) OpenAPI() ([]byte, bool) { return b.first().OpenAPI() }

func (b rootBackend) HasTraining() bool { return b.first().HasTraining() }

// rootQueue is the job queue at the root of the server; nil: there is none.
func (f *Server) rootQueue() (httpd.JobQueue, httpd.QueueOptions) {
	queue, queueing := f.first().httpQueue()
	if queue == nil || !f.several {
		return queue, queueing
	}
	return rootQueue{func() httpd.JobQueue { return f.first().queue }}, f.queueing(f.first)
}

// rootQueue is the queue of the default model, which may be another tomorrow.
type rootQueue struct{ of func() httpd.JobQueue }

var _ httpd.JobQueue = rootQueue{}

func (q rootQueue) Accept(s request.Submission) (request.Accepted, error) { return q.of().Accept(s) }

func (q rootQueue) Find(kind predict.Kind, id string) ([]byte, func(), error) {
	return q.of().Find(kind, id)
}

func (q rootQueue) Submit(s request.Submission, lives bool) (*predict.Prediction, error) {
	return q.of().Submit(s, lives)
}

func (q rootQueue) Attach(kind predict.Kind, id string) *predict.Prediction {
	return q.of().Attach(kind, id)
}

func (q rootQueue) AttachDirect(kind predict.Kind, id string) *predict.Prediction {
	return q.of().AttachDirect(kind, id)
}

func (q rootQueue) Cancel(kind predict.Kind, id string) (bool, error) { return q.of().Cancel(kind, id) }

// Health is the default model's, with the status of each model.
func (b rootBackend) Health(ctx context.Context) httpd.Health {
	h := b.first().Health(ctx)
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
