package server

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/model"
	"pinion/httpd/protocol"
	"pinion/httpd/web/dashboard"
	"pinion/pyembed/locate"
	"pinion/runtime/jobqueue"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/watch"
)

// servedModel is one model of the server: where it comes from, and what it has to itself.
type servedModel struct {
	server  *Server
	name    string // in paths, metrics and other protocols
	s       *config.Model
	log     *slog.Logger
	source  source
	workers workers
	pool    *slot.Pool
	svc     *service.Service
	queue   *jobqueue.Member // nil: accepted predictions live in this process
	leaving sync.Once        // of the queue
	metrics *metrics.Set
	view    *dashboard.View // nil: it is off
	life    *life
	known   *protocol.Model // to other protocols
	of      config.Named
	late    bool // it came after the start of the server
}

// source is where a model comes from.
type source struct {
	found   *model.Model                // at the start
	current atomic.Pointer[model.Model] // as it was last read
	stored  func() []byte               // the document in its folder; nil: there is none
	python  *locate.Python
	watcher *watch.Watcher // of the model's folder; nil: there is none
}

func (f *Server) newModel(of config.Named) *servedModel {
	m := &servedModel{server: f, of: of, name: of.Name, s: of.Settings, log: f.log}
	if f.several {
		m.log = f.log.With("model", of.Name)
	}
	for _, w := range of.Settings.Warnings {
		m.log.Warn(w)
	}
	m.source.found, m.source.python = of.Found, of.Python
	m.source.stored = sync.OnceValue(func() []byte { return model.Stored(of.Found) })
	m.workers.plan = of.GPUs
	m.life = newLife(m)
	return m
}

// makeService makes what runs predictions: slots and the use cases.
func (m *servedModel) makeService() error {
	s, f := m.s, m.server
	m.pool = slot.NewPool(slot.Options{
		Queue: s.Queue, QueueTimeout: s.QueueTimeout, CancelGrace: s.CancelGrace, PredictTimeout: s.Fleet.PredictLimit,
		OnBatch: m.metrics.Batch,
		OnCalls: m.onCalls(),
		Tracer:  f.telemetry.Tracer(), Model: m.label(),
		BusyPoll: busyPolling(f.s.BusyPolls(), f.workerCount(), cores()),
	})
	m.svc = service.New(service.Options{
		Model: m.label(), Pool: m.pool, Files: f.files, Logger: m.log, Queue: s.Queue > 0,
		Version:    map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
		OnShutdown: f.stop.ask, HealthPath: m.healthPath(), OnChange: m.life.observe,
		Webhooks:   f.webhooks,
		Observer:   observer{m.metrics, m.life},
		UploadURL:  s.UploadURL,
		Outputs:    s.OutputCheck(),
		Keep:       predict.Retention{TTL: s.KeepFor(), OnQuiet: func() { f.giveBack(0) }},
		Memory:     f.budget,
		Summaries:  f.s.Exposure.Dashboard.ShownSummaries(),
		Prediction: predict.Options{History: s.StreamHistory},
	})
	return nil
}

// makeView makes how the model is seen: by other protocols, and in the live view.
func (m *servedModel) makeView() error {
	m.view = m.newDashboard()
	m.known = protocol.NewModel(m.name, m.backend())
	return nil
}

// begin begins to serve the model.
func (m *servedModel) begin() {
	m.life.begin()
	go m.announce()
	m.followChanges()
}

func (f *Server) workerCount() (n int) {
	for _, m := range f.all() {
		n += m.workers.plan.Workers
	}
	return n
}

// backend gives httpd the model's service.
func (m *servedModel) backend() backend {
	return backend{m.svc, m}
}

// label names the model where the server has several, in its metrics, logs and traces; "": it has one.
func (m *servedModel) label() string {
	if !m.server.several {
		return ""
	}
	return m.name
}

// healthPath is where the model's health is, for messages; "": at the root.
func (m *servedModel) healthPath() string {
	if !m.server.several {
		return ""
	}
	return "/models/" + url.PathEscape(m.name) + "/health-check"
}

// failsFast tells whether a first setup that fails ends the server.
func (m *servedModel) failsFast() bool {
	return !m.late && m.s.Loading.When == config.AtStartup && m.server.s.FailsFast(m.s.Watch || m.server.several)
}

// close ends what the model has beside its service, when it has no workers.
func (m *servedModel) close() {
	m.closeWatcher()
	m.leaveQueue(context.Background())
}
