package server

import (
	"context"
	"errors"
	"time"

	"pinion/httpd"
	"pinion/httpd/protocol"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/service"
)

// backend gives httpd the service in the shape it asks for.
type backend struct {
	*service.Service
	m *servedModel
}

var (
	_ httpd.Service    = backend{}
	_ protocol.Service = backend{}
)

// Ready says why no prediction is accepted. One that loads the model is.
func (b backend) Ready() error {
	err := b.Service.Ready()
	if err != nil && b.m.Lifecycle.AcceptsOnDemand() {
		return nil
	}
	return err
}

// Create gives the request to the model's successor if it is replaced while the request waits.
func (b backend) Create(req predict.Request) (*predict.Prediction, error) {
	p, err := b.Service.Create(req)
	if err == nil { // usually, and errors.As allocates
		return p, nil
	}
	if notReady := (*predict.NotReadyError)(nil); errors.As(err, &notReady) {
		if next := b.m.successor(); next != nil {
			return next.backend().Create(req)
		}
	}
	return p, err
}

// OpenAPI returns the model's schema document. Of a model that was never loaded it is the one in its folder: any page
// may ask for it, so it loads nothing.
func (b backend) OpenAPI() ([]byte, bool) {
	document, ok := b.Service.OpenAPI()
	if ok || !b.m.Lifecycle.AcceptsOnDemand() {
		return document, ok
	}
	document = b.m.Stored()
	return document, document != nil
}

// LoadOpenAPI returns the same for a prediction, which loads the model if a request does.
func (b backend) LoadOpenAPI() ([]byte, bool) {
	document, ok := b.Service.OpenAPI()
	if ok {
		return document, ok
	}
	if b.m.Lifecycle.AcceptsOnDemand() && b.m.Lifecycle.Enter(time.Time{}, nil) == nil {
		b.m.Lifecycle.Leave()
		return b.Service.OpenAPI()
	}
	if next := b.m.successor(); next != nil {
		return next.backend().LoadOpenAPI()
	}
	return document, ok
}

// HasTraining reports whether the model has a training interface. Before it was loaded, cog.yaml says so.
func (b backend) HasTraining() bool {
	return b.Service.HasTraining() || b.m.of.Found.Train != "" && b.m.Lifecycle.AcceptsOnDemand()
}

// State says where the model stands, in the words of the Open Inference Protocol.
func (b backend) State() protocol.State {
	err := b.Service.Ready()
	switch {
	case err == nil:
		return protocol.State{Name: protocol.StateReady}
	case b.Service.Draining():
		return protocol.State{Name: protocol.StateUnloading, Reason: err.Error()}
	case b.Service.Status() == health.Starting:
		return protocol.State{Name: protocol.StateLoading, Reason: err.Error()}
	default:
		return protocol.State{Name: protocol.StateUnavailable, Reason: err.Error()}
	}
}

// Load loads the model for a client of another protocol.
func (b backend) Load() error { return b.change(b.m.loader()) }

// Unload unloads it.
func (b backend) Unload() error { return b.change(b.m.unloader()) }

func (backend) change(do func() error) error {
	if do == nil {
		return protocol.ErrNoControl
	}
	return do()
}

// Health returns the health of the service and of what the model shares with others.
func (b backend) Health(context.Context) health.Document {
	h := b.Service.Health()
	h.Preload = b.m.Preloader().Health()
	if q := b.m.queue; q != nil {
		h.Fleet = q.member.Health()
	}
	b.m.server.addHealth(&h)
	return h
}

// addHealth adds what all models share.
func (f *Server) addHealth(h *health.Document) {
	memory, connections := f.budget.Stats(), f.connections.Stats()
	h.Memory, h.Connections = &memory, &connections
}
