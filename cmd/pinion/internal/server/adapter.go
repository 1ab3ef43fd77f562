package server

import (
	"context"
	"time"

	"pinion/httpd"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/supervise"
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

// Create is that of the service, once the model is loaded.
func (b backend) Create(req predict.Request) (*predict.Prediction, error) {
	if err := b.m.Lifecycle.Enter(req.Deadline); err != nil {
		return nil, err
	}
	defer b.m.Lifecycle.Leave()
	return b.Service.Create(&req)
}

// Ready says why no prediction is accepted. One that loads the model is.
func (b backend) Ready() error {
	err := b.Service.Ready()
	if err != nil && b.m.Lifecycle.AcceptsOnDemand() {
		return nil
	}
	return err
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
	if ok || !b.m.Lifecycle.AcceptsOnDemand() || b.m.Lifecycle.Enter(time.Time{}) != nil {
		return document, ok
	}
	b.m.Lifecycle.Leave()
	return b.Service.OpenAPI()
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
		return protocol.State{Name: "READY"}
	case b.Service.Draining():
		return protocol.State{Name: "UNLOADING", Reason: err.Error()}
	case b.Service.Status() == "STARTING":
		return protocol.State{Name: "LOADING", Reason: err.Error()}
	default:
		return protocol.State{Name: "UNAVAILABLE", Reason: err.Error()}
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

// Health puts the service's health into the words of the HTTP contract.
func (b backend) Health(context.Context) httpd.Health {
	h := b.Service.Health()
	out := httpd.Health{Status: h.Status, Version: h.Version, UserHealthcheckErr: h.ModelError}
	if !h.Setup.Started.IsZero() {
		out.Setup = &httpd.Setup{
			StartedAt:   instant(h.Setup.Started),
			CompletedAt: instant(h.Setup.Completed),
			Status:      setupStatus(h),
			Logs:        h.Setup.Logs,
		}
	}
	for _, w := range h.Workers {
		out.Workers = append(out.Workers, workerHealth(w))
	}
	out.Preload = preloadHealth(b.m.Preloader())
	out.Fleet = b.m.fleetHealth()
	m := b.m.server.budget.Stats()
	out.Memory = &httpd.Memory{UsedBytes: m.Used, LimitBytes: m.Limit, Evictions: m.Evictions}
	out.Connections = httpd.ConnectionsOf(b.m.server.connections.Stats())
	if h.QueueSize > 0 {
		out.Queue = &httpd.Queue{Length: h.Queued, Capacity: h.QueueSize}
	}
	return out
}

// RunExample carries out the model's own example.
func (b backend) RunExample(ctx context.Context) *httpd.ExampleRun {
	r := b.Service.RunExample(ctx)
	if r == nil {
		return nil
	}
	return &httpd.ExampleRun{Status: r.Status, Error: r.Error, PredictTime: r.Elapsed.Seconds()}
}

func workerHealth(w supervise.Report) httpd.WorkerHealth {
	out := httpd.WorkerHealth{
		PID: w.PID, State: w.State.String(), CUDA: w.CUDA, LastExit: w.LastExit, Restarts: w.Restarts,
		Device: w.Device, Busy: w.Busy, BusySince: instant(w.Since), Served: w.Served, MemoryBytes: w.Memory,
		NextStart: instant(w.NextStart),
	}
	if w.Slots > 1 {
		out.Concurrency = w.Slots
	}
	if w.Successor != nil {
		out.Successor = w.Successor.String()
	}
	return out
}

// preloadHealth is what health says of the preload process.
func preloadHealth(p *supervise.Preloader) *httpd.Preload {
	if p == nil {
		return nil
	}
	st := p.Status()
	return &httpd.Preload{State: st.State, PID: st.PID, Reason: st.Reason, Forked: st.Forked}
}

func setupStatus(h service.Health) string {
	switch {
	case h.Setup.Completed.IsZero():
		return "starting"
	case h.Setup.Failed:
		return "failed"
	default:
		return "succeeded"
	}
}

// instant is a time as RFC 3339 in UTC, with microseconds; "" for none. The zone is +00:00 as in Cog's health, for
// Python reads a Z only from 3.11 on.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000-07:00")
}
