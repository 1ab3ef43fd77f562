package front

import (
	"log/slog"
	"sync/atomic"

	"pinion/cmd/pinion/internal/gpus"
	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd/dashboard"
	"pinion/pyembed/locate"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/queued"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/runtime/watch"
)

// Model is a model to serve: its settings, its folder, and what it is run with.
type Model struct {
	Settings *settings.Model
	Found    *model.Model
	Python   *locate.Python
	GPUs     gpus.Plan
}

// servedModel is one model of the server: where it comes from, and what it has to itself.
type servedModel struct {
	server  *Server
	s       *settings.Model
	log     *slog.Logger
	source  source
	workers workers
	pool    *slot.Pool
	svc     *service.Service
	queue   *queued.Member // nil: accepted predictions live in this process
	metrics *metrics.Set
	view    *dashboard.View // nil: it is off
}

// source is where a model comes from.
type source struct {
	found   *model.Model                // at the start
	current atomic.Pointer[model.Model] // as it was last read
	python  *locate.Python
	watcher *watch.Watcher // of the model's folder; nil: there is none
}

func newServedModel(f *Server, of Model) *servedModel {
	m := &servedModel{server: f, s: of.Settings, log: f.log}
	m.source.found, m.source.python = of.Found, of.Python
	m.workers.plan, m.workers.fleet = of.GPUs, supervise.NewFleet(f.orphans)
	m.metrics = m.newMetrics()
	return m
}

// makeService makes what runs predictions: slots and the use cases.
func (m *servedModel) makeService() error {
	s, f := m.s, m.server
	m.pool = slot.NewPool(slot.Options{
		Queue: s.Queue, QueueTimeout: s.QueueTimeout, CancelGrace: s.CancelGrace, PredictTimeout: s.Fleet.PredictLimit,
		OnBatch:  m.metrics.Batch,
		Tracer:   f.telemetry.Tracer(),
		BusyPoll: limits.BusyPolling(f.s.BusyPoll, m.workers.plan.Workers, limits.Cores()),
	})
	m.svc = service.New(service.Options{
		Pool: m.pool, Files: f.files, Logger: m.log, Queue: s.Queue > 0,
		Version:    map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
		OnShutdown: f.stop.ask,
		Webhooks:   f.webhooks,
		Observer:   observer{m.metrics},
		UploadURL:  s.UploadURL,
		Outputs:    settings.OutputChecks[s.Validation.Outputs],
		Keep:       predict.Retention{TTL: s.KeepFor(), OnQuiet: f.becameQuiet},
		Memory:     f.budget,
		Summaries:  f.s.Exposure.Dashboard.ShownSummaries(),
		Prediction: predict.Options{History: s.StreamHistory},
	})
	return nil
}

// backend gives httpd the model's service.
func (m *servedModel) backend() backend {
	return backend{m.svc, m.workers.preloadHealth, m.server.budget, m.fleetHealth}
}

// failsFast tells whether a first setup that fails ends the server.
func (m *servedModel) failsFast() bool { return m.server.s.FailsFast(m.s.Watch) }

// discard undoes the steps of New.
func (m *servedModel) discard() {
	m.leaveQueue()
	m.closeWatcher()
}

// close ends what the model has beside its service, when its workers are gone.
func (m *servedModel) close() {
	m.closeWatcher()
	m.leaveQueue()
}
