package server

import (
	"context"
	"sync/atomic"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/cmd/pinion/internal/resources"
	"pinion/httpd/web/dashboard"
	"pinion/runtime/metrics"
	"pinion/runtime/slot"
)

// servedModel is a model of the server, and how it is seen from outside.
type servedModel struct {
	*modelhost.Model
	server  *Server
	of      config.Named
	added   bool        // by a client
	queue   *modelQueue // nil means accepted predictions live in this process
	metrics *metrics.Set
	view    *dashboard.View // nil means it is off
	before  *servedModel    // whose end this one waits for, or nil
	ended   chan struct{}   // closed once it and that one have ended
	target  *target         // of requests that name it

	mirrored atomic.Pointer[mirrored] // how it did as a mirror of another version; nil means it was none
}

// hostModels makes the models' host and the models, once what they share is there.
func (f *Server) hostModels() (err error) {
	f.host, err = modelhost.New(modelhost.Options{
		Config: f.s, Several: f.several, Logger: f.log, Tracer: f.telemetry.Tracer(),
		RunDir: f.dir, Orphans: f.orphans, Memory: f.budget, Files: f.files, Webhooks: f.webhooks,
		BusyPoll: func() slot.BusyPoll {
			return resources.BusyPolling(f.s.BusyPolls(), f.models.workerCount(), resources.Cores())
		},
		Models: f.models.hosted, Calls: f.onCalls,
		Reload: f.auth.Reload, Quiet: func() { f.giveBack(0) },
	})
	if err != nil {
		return err
	}
	f.host.SetLimit(int64(f.s.ModelsMemory))
	for _, m := range f.models.all() {
		if err := m.host(false); err != nil {
			return err
		}
	}
	return nil
}

// host makes the model itself, and how other protocols and the live view see it. late: the server runs already.
func (m *servedModel) host(late bool) (err error) {
	if m.Model, err = m.server.host.NewModel(m.of, m.metrics, late); err != nil {
		return err
	}
	m.Overdue, m.ended = m.releaseJobs, make(chan struct{})
	m.view = m.newDashboard()
	m.target = newTarget(m, m.Name, "")
	return nil
}

// begin begins to serve the model.
func (m *servedModel) begin() {
	m.beginLate()
	go m.announce()
}

// beginLate does the same while the server runs.
func (m *servedModel) beginLate() {
	m.Begin()
	m.beginJobs()
}

// close ends what the model has beside its service, when it has no workers.
func (m *servedModel) close() {
	if m.Model == nil {
		return
	}
	m.Close()
	m.leaveQueue(context.Background())
}
