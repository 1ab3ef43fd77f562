package server

import (
	"context"
	"errors"
	"slices"

	"pinion/cmd/pinion/internal/config"
	"pinion/httpd"
	"pinion/httpd/protocol"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// anyVersion answers for a model of which the server has several versions.
type anyVersion struct{ v *versions }

var (
	_ httpd.Service    = anyVersion{}
	_ protocol.Service = anyVersion{}
)

func (b anyVersion) primary() backend { return b.v.route.Load().primary().backend() }

// Create gives a request to the version whose turn it is. If that takes nothing in any more, another one gets it.
func (b anyVersion) Create(req predict.Request) (p *predict.Prediction, err error) {
	if holder := b.holder(req.Kind, req.ID); holder != nil { // the request joins, or is refused
		return oneVersion{holder.backend(), nil}.Create(req)
	}
	var tried []*target
	for {
		version := b.v.choose(tried) // of the route of now, which may have others than the last one
		if slices.Contains(tried, version) {
			return p, err
		}
		p, err = oneVersion{version.backend(), version}.Create(req)
		if err == nil {
			return p, nil
		}
		if notReady := (*predict.NotReadyError)(nil); !errors.As(err, &notReady) {
			return p, err
		}
		tried = append(tried, version)
	}
}

// all returns the versions, and those that leave and end their predictions.
func (b anyVersion) all() (list []*servedModel) {
	for _, m := range b.v.server.models.every() {
		if name, _ := m.split(); name == b.v.name {
			list = append(list, m)
		}
	}
	return list
}

// holder returns the version that has a prediction of that id in flight, or nil.
func (b anyVersion) holder(kind predict.Kind, id string) *servedModel {
	if id == "" {
		return nil
	}
	for _, m := range b.all() {
		if m.Service.Find(kind, id) != nil {
			return m
		}
	}
	return nil
}

// SubmitAll is never called: a call is for the version that Model.Choose returns.
func (b anyVersion) SubmitAll(ps []*predict.Prediction) { b.primary().SubmitAll(ps) }

// NewAttachments implements httpd.Service. The folder is the server's.
func (b anyVersion) NewAttachments() request.Attachments { return b.primary().NewAttachments() }

// Find implements httpd.Service.
func (b anyVersion) Find(kind predict.Kind, id string) *predict.Prediction {
	if m := b.holder(kind, id); m != nil {
		return m.Service.Find(kind, id)
	}
	return nil
}

// Result implements httpd.Service.
func (b anyVersion) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	for _, m := range b.all() {
		if p, rec, ok := m.Service.Result(kind, id); ok {
			return p, rec, ok
		}
	}
	return nil, predict.Record{}, false
}

// Cancel implements httpd.Service.
func (b anyVersion) Cancel(kind predict.Kind, id string) bool {
	for _, m := range b.all() {
		if m.Service.Cancel(kind, id) {
			return true
		}
	}
	return false
}

// Ready says why no version takes predictions.
func (b anyVersion) Ready() (err error) {
	for _, version := range b.v.route.Load().versions {
		if version.share == 0 {
			continue
		}
		if err = version.backend().Ready(); err == nil {
			return nil
		}
	}
	return err
}

// Defunct implements httpd.Service.
func (b anyVersion) Defunct() (err error) {
	for _, version := range b.v.route.Load().versions {
		if version.share == 0 {
			continue
		}
		if err = version.Service.Defunct(); err == nil {
			return nil
		}
	}
	return err
}

// Health returns the health of the version with the largest share, and the status of each version.
func (b anyVersion) Health(ctx context.Context) health.Document {
	h := b.primary().Health(ctx)
	h.Models = map[string]health.Status{}
	for _, version := range b.v.route.Load().versions {
		h.Models[config.WithVersion(version.Name)] = version.Service.Glance().Status
	}
	return h
}

// RunExample implements httpd.Service.
func (b anyVersion) RunExample(ctx context.Context) *health.ExampleRun {
	return b.primary().RunExample(ctx)
}

// OpenAPI implements httpd.Service and protocol.Service.
func (b anyVersion) OpenAPI() ([]byte, bool) { return b.primary().OpenAPI() }

// LoadOpenAPI implements protocol.Service.
func (b anyVersion) LoadOpenAPI() ([]byte, bool) { return b.primary().LoadOpenAPI() }

// HasTraining implements httpd.Service.
func (b anyVersion) HasTraining() bool { return b.primary().HasTraining() }

// State implements protocol.Service.
func (b anyVersion) State() protocol.State { return b.primary().State() }

// Load loads each version for a client.
func (b anyVersion) Load() error {
	return b.each(func(m *servedModel) error { return m.backend().Load() })
}

// Unload unloads each version for a client.
func (b anyVersion) Unload() error {
	return b.each(func(m *servedModel) error { return m.backend().Unload() })
}

func (b anyVersion) each(do func(*servedModel) error) error {
	for _, version := range b.v.route.Load().versions {
		if err := do(version.servedModel); err != nil {
			return err
		}
	}
	return nil
}

// oneVersion is a version that answers a request: as target for its model, or, without one, as the request names it.
type oneVersion struct {
	backend
	target *target
}

// Create creates a prediction at the version.
func (b oneVersion) Create(req predict.Request) (*predict.Prediction, error) {
	_, req.Version = b.m.split()
	return b.target.create(req, b.backend.Create)
}

// create makes a prediction, and sends a copy of its request to the mirror, where there is one.
func (t *target) create(req predict.Request, create func(predict.Request) (*predict.Prediction, error),
) (*predict.Prediction, error) {
	copied := t.copyFor(&req)
	p, err := create(req)
	if err != nil {
		copied.drop()
		return nil, err
	}
	copied.follow(p)
	return p, nil
}

// copyFor copies a request to a version for the mirror; nil means there is none.
func (t *target) copyFor(req *predict.Request) *shadow {
	if t == nil {
		return nil
	}
	to := t.of.route.Load().mirror
	if to == nil || to.servedModel == t.servedModel {
		return nil
	}
	return newShadow(to, req)
}
