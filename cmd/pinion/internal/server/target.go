package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/web"
	"pinion/runtime/health"
	"pinion/runtime/jobqueue"
	"pinion/runtime/predict"
	"pinion/runtime/service"
)

// target is a model, or a version of one, as requests and jobs find it. It is also each slot that is reserved for a job.
type target struct {
	*service.Service
	*servedModel
	version string          // that its predictions name; "" means the model has no versions
	known   *protocol.Model // to other protocols
	share   int             // of the requests that name no version, in percent

	of       *versions // for whose name it answers; nil means that requests name it
	exact    *target   // the same for requests that name it
	mirrored *mirrored // how it did as a mirror; nil means it was none
}

var (
	_ place.Service    = (*target)(nil)
	_ place.Route      = (*target)(nil)
	_ protocol.Service = (*target)(nil)
	_ jobqueue.Slot    = (*target)(nil)
)

// newTarget makes the target of requests for a model by that name.
func newTarget(m *servedModel, name, version string) *target {
	t := &target{Service: m.Service, servedModel: m, version: version, share: allJobs}
	if t.known = protocol.NewModel(name, t); version != "" {
		t.known.Version = version
	}
	t.known.Summary, t.known.ResultTTL = m.of.Found.Description, m.of.Settings.ResultTTL
	t.known.Readme = func() string { return web.Readme(m.of.Found.Dir) }
	return t
}

// Model implements place.Route.
func (t *target) Model() place.Service { return t }

// Holder implements place.Route.
func (t *target) Holder(predict.Kind, string) place.Service { return t }

// Assign creates a prediction here. If the target answers for the model's name and takes nothing in any more, another
// version gets the request, but for a job, whose slot is here.
func (t *target) Assign(req predict.Request) (*predict.Prediction, error) {
	p, err := t.assign(req)
	for tried := []*target(nil); err != nil && t.of != nil && req.Attempt == 0 && isNotReady(err); {
		tried = append(tried, t)
		if t = t.of.choose(tried); slices.Contains(tried, t) { // of the route of now, which may have others than the last one
			break
		}
		p, err = t.assign(req)
	}
	return p, err
}

// assign creates a prediction here. The mirror gets a copy, where there is one.
func (t *target) assign(req predict.Request) (*predict.Prediction, error) {
	req.Version = t.version
	copied := t.copyFor(&req)
	p, err := t.create(&req)
	if err != nil {
		copied.drop()
		return nil, err
	}
	copied.follow(p)
	return p, nil
}

// create gives the request to the model's successor if it is replaced while the request waits. A job has its slot here.
func (t *target) create(req *predict.Request) (*predict.Prediction, error) {
	p, err := t.Service.Create(*req)
	if err != nil && req.Attempt == 0 && isNotReady(err) {
		if next := t.successor(); next != nil {
			return next.target.create(req)
		}
	}
	return p, err
}

func isNotReady(err error) bool {
	_, ok := errors.AsType[*predict.NotReadyError](err)
	return ok
}

// copyFor copies a request to a version for the mirror; nil means there is none.
func (t *target) copyFor(req *predict.Request) *shadow {
	if t.of == nil {
		return nil
	}
	to := t.of.route.Load().mirror
	if to == nil || to.servedModel == t.servedModel {
		return nil
	}
	return newShadow(to, req)
}

// accepts says why no prediction is accepted. One that loads the model is.
func (t *target) accepts() error {
	err := t.Service.Ready()
	if err != nil && t.Lifecycle.AcceptsOnDemand() {
		return nil
	}
	return err
}

// Ready says why no prediction is accepted, by another version neither if the target answers for the model's name.
func (t *target) Ready() error {
	if t.of != nil {
		return t.of.Ready()
	}
	return t.accepts()
}

// OpenAPI returns the model's schema document. Of a model that was never loaded it is the one in its folder: any page
// may ask for it, so it loads nothing.
func (t *target) OpenAPI() ([]byte, bool) {
	document, ok := t.Service.OpenAPI()
	if ok || !t.Lifecycle.AcceptsOnDemand() {
		return document, ok
	}
	document = t.Stored()
	return document, document != nil
}

// LoadOpenAPI returns the same for a prediction, which loads the model if a request does.
func (t *target) LoadOpenAPI() ([]byte, bool) {
	document, ok := t.Service.OpenAPI()
	if ok {
		return document, ok
	}
	if t.Lifecycle.AcceptsOnDemand() && t.Lifecycle.Enter(time.Time{}, nil) == nil {
		t.Lifecycle.Leave()
		return t.Service.OpenAPI()
	}
	if next := t.successor(); next != nil {
		return next.target.LoadOpenAPI()
	}
	return document, ok
}

// HasTraining reports whether the model has a training interface. Before it was loaded, cog.yaml says so.
func (t *target) HasTraining() bool {
	return t.Service.HasTraining() || t.servedModel.of.Found.Train != "" && t.Lifecycle.AcceptsOnDemand()
}

// State says where the model stands, in the words of the Open Inference Protocol.
func (t *target) State() protocol.State {
	err := t.Service.Ready()
	switch {
	case err == nil:
		return protocol.State{Name: protocol.StateReady}
	case t.Draining():
		return protocol.State{Name: protocol.StateUnloading, Reason: err.Error()}
	case t.Status() == health.Starting:
		return protocol.State{Name: protocol.StateLoading, Reason: err.Error()}
	default:
		return protocol.State{Name: protocol.StateUnavailable, Reason: err.Error()}
	}
}

// Load loads the model, each of its versions, for a client of another protocol.
func (t *target) Load() error { return t.change((*servedModel).loader) }

// Unload unloads it.
func (t *target) Unload() error { return t.change((*servedModel).unloader) }

func (t *target) change(way func(*servedModel) func() error) error {
	list := []*target{t}
	if t.of != nil {
		list = t.of.route.Load().versions
	}
	for _, version := range list {
		do := way(version.servedModel)
		if do == nil {
			return protocol.ErrNoControl
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// Health returns the health of the service and of what the model shares with others.
func (t *target) Health(context.Context) health.Document {
	h := t.Service.Health()
	h.Preload = t.Preloader().Health()
	if q := t.queue; q != nil {
		h.Fleet = q.member.Health()
	}
	t.server.addHealth(&h)
	return h
}

// addHealth adds what all models share.
func (f *Server) addHealth(h *health.Document) {
	memory, connections := f.budget.Stats(), f.connections.Stats()
	h.Memory, h.Connections = &memory, &connections
}

// Version implements consume.Slot.
func (t *target) Version() string { return t.version }

// Release implements consume.Slot.
func (t *target) Release() { t.ReleaseSlot() }

// checkJob checks a request. One for a model that a job loads is accepted before its inputs are known: the server that
// runs the job checks it.
func (t *target) checkJob(req *predict.Request, most int) (input []byte, warnings []string, err error) {
	if err := t.Lifecycle.Refusal(); err != nil {
		return nil, nil, err
	}
	input, warnings, err = t.Check(req, most)
	if err != nil && isNotReady(err) && t.Lifecycle.AcceptsOnDemand() {
		return nil, nil, nil
	}
	return input, warnings, err
}

// runsJobs reports whether the model runs jobs, now or as soon as a slot is free.
func (t *target) runsJobs() bool { return t.Lifecycle.IsReady() && t.Pool.Load().Capacity > 0 }

// free returns how many jobs the model could begin now.
func (t *target) free() int {
	if !t.Lifecycle.IsReady() {
		return 0
	}
	return t.Pool.Free()
}

// awaitFree waits until it could begin one, or ctx ends.
func (t *target) awaitFree(ctx context.Context) {
	for t.Lifecycle.AwaitReady(ctx) {
		if t.AwaitCapacity(ctx) == 0 || t.Lifecycle.IsReady() {
			return
		}
	}
}
