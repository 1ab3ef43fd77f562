package modelhost

import (
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/model"
	"pinion/pyembed/locate"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/webhook"
)

// Model is one model of a server.
type Model struct {
	Name    string // in paths, metrics and other protocols
	Log     *slog.Logger
	Pool    *slot.Pool
	Service *service.Service
	// Webhooks counts the deliveries of the model's webhooks.
	Webhooks *webhook.Account

	Lifecycle *Lifecycle
	// Overdue, if set, is called before the predictions of a model that is to be unloaded are canceled.
	Overdue func()

	host    *Host
	metrics *metrics.Set
	s       *config.Model
	source  source
	workers workers
	weights *model.Fetch
	late    bool // it came after the start of the server
}

// source is where a model comes from.
type source struct {
	found   *model.Model                // at the start
	current atomic.Pointer[model.Model] // as it was last read
	stored  func() []byte               // the document in its folder, or nil
	python  *locate.Python
	watcher *watcher // of the model's folder, or nil
}

// NewModel makes a model without workers. late means that the server runs already. Close undoes it.
func (h *Host) NewModel(of config.Named, set *metrics.Set, late bool) (*Model, error) {
	m := &Model{host: h, Name: of.Name, s: of.Settings, Log: h.o.Logger, metrics: set, late: late}
	m.Webhooks = h.o.Webhooks.Account()
	if h.o.Several {
		m.Log = m.Log.With("model", of.Name)
	}
	for _, w := range of.Settings.Warnings {
		m.Log.Warn(w)
	}
	m.source.found, m.source.python = of.Found, of.Python
	m.source.stored = sync.OnceValue(func() []byte { return model.Stored(of.Found) })
	m.workers.plan = of.GPUs
	m.Lifecycle = newLifecycle(m)
	m.weights = &model.Fetch{
		Below: h.o.RunDir.Path, Log: m.Log, Timeout: of.Settings.WeightsTimeout, OnEnd: m.weightsEnded,
	}
	m.makeService()
	return m, m.watchFolder()
}

// makeService makes the pool of slots and the service that runs predictions in them.
func (m *Model) makeService() {
	s, o := m.s, &m.host.o
	m.Pool = slot.NewPool(slot.Options{
		Queue: s.Queue, QueueTimeout: s.QueueTimeout, CancelGrace: s.CancelGrace, PredictTimeout: s.Fleet.PredictLimit,
		OnBatch: m.metrics.Batch,
		OnCalls: o.Calls(m.Name),
		Tracer:  o.Tracer, Model: m.label(),
		BusyPoll: o.BusyPoll(),
	})
	m.Service = service.New(service.Options{
		Model: m.label(), Pool: m.Pool, Files: o.Files, Logger: m.Log, Lifecycle: m.Lifecycle,
		Queue:      s.Queue > 0,
		Version:    map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
		HealthPath: m.healthPath(), OnChange: m.Lifecycle.observe,
		Weights:    m.weights.Health,
		Webhooks:   m.Webhooks,
		Observer:   observer{m.metrics, m.Lifecycle},
		UploadURL:  s.UploadURL,
		Outputs:    s.OutputCheck(),
		Keep:       predict.Retention{TTL: s.KeepFor(), Shared: m.host.retained},
		Memory:     o.Memory,
		Summaries:  o.Config.Exposure.Dashboard.ShownSummaries(),
		Prediction: predict.Options{History: s.StreamHistory},
	})
}

// observer reports the ends of predictions to the metrics, and the use of the model to its lifecycle.
type observer struct {
	*metrics.Set
	lifecycle *Lifecycle
}

var _ service.Observer = observer{}

func (o observer) Ended(e predict.End) {
	o.Set.Ended(e)
	o.lifecycle.touch(&o.lifecycle.ended)
}

// Stored returns the OpenAPI document in the model's folder, or nil.
func (m *Model) Stored() []byte { return m.source.stored() }

// label names the model where the server has several, in its metrics, logs and traces; "" means it has one.
func (m *Model) label() string {
	if !m.host.o.Several {
		return ""
	}
	return m.Name
}

// healthPath returns where the model's health is, for messages; "" means at the root.
func (m *Model) healthPath() string {
	if !m.host.o.Several {
		return ""
	}
	return "/models/" + url.PathEscape(m.Name) + "/health-check"
}

// Begin begins to serve the model.
func (m *Model) Begin() {
	m.Lifecycle.begin()
	m.followChanges()
}

// Drain accepts no more predictions, and loads no more.
func (m *Model) Drain() {
	m.Service.Drain()
	m.Lifecycle.Close()
}

// Close releases what a model without workers has besides its service.
func (m *Model) Close() {
	m.Lifecycle.Close()
	m.closeWatcher()
}

// FailsFast reports whether a first setup that fails ends the server.
func (m *Model) FailsFast() bool {
	return !m.late && m.s.Loading.When == config.AtStartup &&
		m.host.o.Config.FailsFast(m.s.Watch || m.host.o.Several)
}
