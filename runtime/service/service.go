package service

import (
	"bytes"
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/health"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

type Options struct {
	// Pool runs the predictions; nil means none is run here, but requests can be checked.
	Pool   *slot.Pool
	Files  *files.Store
	Logger *slog.Logger
	// Lifecycle lets requests in. Default: the model is always loaded.
	Lifecycle Lifecycle
	// Queue means that predictions may wait, so they are also accepted while a worker restarts.
	Queue bool
	// Version is the version section of the health document: "pinion", "cog" and so on.
	Version map[string]string
	// HealthPath is where clients find the model's health. Default: /health-check.
	HealthPath string
	// OnChange is called after the workers' states changed, by any goroutine. It must not block. May be nil.
	OnChange func()
	// Webhooks delivers the events of predictions with a webhook; nil means no webhooks.
	Webhooks Notifier
	// Observer receives the ends of predictions, or nil.
	Observer Observer
	// UploadURL is where output files are uploaded; "" means they become data URLs, unless a request names a URL.
	UploadURL string
	// Outputs says what happens to outputs that do not match the model's return annotation.
	Outputs OutputCheck
	// Keep says how long ended predictions are retained, and with those of which other services.
	Keep predict.Retention
	// Weights returns how far the fetch of the model's weights is, or nil. May be nil.
	Weights func() *health.Weights
	// Model names the model in traces; "" means the server has one.
	Model string
	// Root is where clients find the model's routes, for messages: "" or "/models/NAME".
	Root string
	// Prediction has the server's settings for each prediction.
	Prediction predict.Options
	// Summaries is how many failed predictions, and how many that are too large to be retained, are kept in short for
	// Overview. The default is none.
	Summaries int
	// Memory is the budget, for Keep and Prediction too; nil means no limit.
	Memory *memory.Budget
}

type Notifier interface {
	// Attach follows a prediction whose Request names a webhook. It is called before the prediction runs.
	Attach(p *predict.Prediction)
}

// Service runs predictions. cmd adapts it to place.Service.
type Service struct {
	o        Options
	registry *predict.Registry
	draining atomic.Bool
	model    atomic.Pointer[model]
	changed  chan struct{} // one token: the workers' states changed
	check    singleflight[error]
	// modelError is what the last run of the model's health check found; nil means it never ran.
	modelError atomic.Pointer[string]
	examples   singleflight[*health.ExampleRun]
	gate       gate
	ends       ends
	// requestIDs means that a request with an X-Request-Id has come. Until then RequestOf need not search.
	requestIDs atomic.Bool

	mu       sync.Mutex
	workers  []*supervise.Supervisor
	ready    bool // a worker was ready at least once
	unloaded bool // there are no workers on purpose
}

// model is what the workers reported about the model.
type model struct {
	openapi   []byte
	inputs    [2]*schema.Schema // by predict.Kind; nil means inputs are not checked
	outputs   *outputs
	example   []byte // its example input, or nil
	streaming bool   // its function returns an iterator
	function  string // "Runner.run"; "" means not known
	training  bool
	trainOnly bool              // there is no predict function: a prediction runs the training
	absent    bool              // there is neither: only functions
	functions map[string]*model // by name
	check     bool              // it has a health check
	batched   bool              // its predictions run in batches
	keys      []key
	cog       string
	python    string
}

// New returns a service without workers.
func New(o Options) *Service {
	o.Keep.Memory, o.Prediction.Memory = o.Memory, o.Memory
	o.HealthPath = cmp.Or(o.HealthPath, "/health-check")
	if o.Lifecycle == nil {
		o.Lifecycle = alwaysLoaded{}
	}
	return &Service{o: o, registry: predict.NewRegistry(o.Keep), changed: make(chan struct{}, 1)}
}

// Supervise makes the supervisor of another worker of the service's, which reports to it: its pool, logger and hooks
// are set here. OnLoaded, if set, must call Loaded. The caller runs it.
func (s *Service) Supervise(o supervise.Options) *supervise.Supervisor {
	o.Pool, o.Logger = s.o.Pool, s.o.Logger
	o.Hooks.OnChange, o.Hooks.RequestOf = s.Changed, s.RequestOf
	if o.Hooks.OnLoaded == nil {
		o.Hooks.OnLoaded = s.Loaded
	}
	w := supervise.New(o)
	s.mu.Lock()
	s.workers, s.unloaded = append(s.workers, w), false
	s.mu.Unlock()
	return w
}

// Loaded stores what a worker reports about its model.
func (s *Service) Loaded(l ipc.Loaded) {
	m := s.newModel(l)
	for name, f := range schema.Functions(l.Schema) {
		of := s.newModel(ipc.Loaded{
			Schema: f.Document, Streaming: f.Streams, Example: f.Example, Function: name, Predict: true,
			Batch: l.Functions[name].Batch, Cog: l.Cog, Python: l.Python,
		})
		if m.functions == nil {
			m.functions = map[string]*model{}
		}
		m.functions[name] = of
	}
	if before := s.model.Swap(m); before == nil || !bytes.Equal(before.openapi, l.Schema) {
		s.warnOfUnchecked(m) // once for all workers that load the same document
	}
}

// of returns the model's function of that name, "" being its own, or nil.
func (m *model) of(name string) *model {
	if name == "" {
		return m
	}
	return m.functions[name]
}

func (s *Service) newModel(l ipc.Loaded) *model {
	m := &model{
		openapi: l.Schema, streaming: l.Streaming, training: l.Train, check: l.Healthcheck, example: l.Example, cog: l.Cog,
		python: l.Python, function: l.Function,
	}
	results := map[predict.Kind]string{}
	if l.Train {
		m.inputs[predict.KindTraining] = s.compile(l.Schema, "TrainingInput")
		results[predict.KindTraining] = "TrainingOutput"
	}
	if m.trainOnly = l.Train && !l.Predict; m.trainOnly {
		m.inputs[predict.KindPrediction] = m.inputs[predict.KindTraining]
		results[predict.KindPrediction] = "TrainingOutput"
	} else if m.absent = !l.Predict && schema.Functions(l.Schema) != nil; !m.absent {
		m.inputs[predict.KindPrediction] = s.compile(l.Schema, "Input")
		results[predict.KindPrediction] = "Output"
	}
	m.outputs = s.compileOutputs(l.Schema, results)
	if l.Batch != nil {
		m.batched, m.keys = true, keysOf(l.Schema, l.Batch.Keys)
	}
	return m
}

// compile returns the schema of that name, or nil if it cannot be used.
func (s *Service) compile(openapi []byte, name string) *schema.Schema {
	compiled, err := schema.Compile(openapi, name)
	if err != nil {
		// The model brought its schema file: the SDK's schemas are tested against this compiler.
		s.o.Logger.Error("the model's schema cannot be used: inputs are not checked", "schema", name, "error", err)
		return nil
	}
	return compiled
}

// warnOfUnchecked names the parts of the model's schema that are not checked.
func (s *Service) warnOfUnchecked(m *model) {
	var parts []string
	for _, m := range append(slices.Collect(maps.Values(m.functions)), m) {
		for kind, in := range m.inputs {
			if in != nil {
				parts = append(parts, in.Unchecked()...)
			}
			if out := m.outputs.schemas[kind]; out != nil {
				parts = append(parts, out.Unchecked()...)
			}
		}
	}
	if len(parts) > 0 {
		slices.Sort(parts)
		s.o.Logger.Warn("parts of the model's schema cannot be used, and values are checked without them", "parts",
			strings.Join(slices.Compact(parts), "; "))
	}
}

func (s *Service) Changed() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if s.view().ready > 0 {
		s.mu.Lock()
		s.ready = true
		s.mu.Unlock()
	}
	s.updateGate()
	if s.o.OnChange != nil {
		s.o.OnChange()
	}
}

// Unloaded forgets the workers. Their processes have ended, and the model has none until Supervise is called again.
// What the last ones reported about the model stays.
func (s *Service) Unloaded() {
	s.mu.Lock()
	s.workers, s.unloaded = nil, true
	s.mu.Unlock()
	s.Changed()
}

// Changes returns a channel that has a token after the workers' states changed.
func (s *Service) Changes() <-chan struct{} { return s.changed }

func (s *Service) Drain() { s.draining.Store(true) }

func (s *Service) CancelAll() {
	for _, p := range s.registry.All() {
		p.Cancel()
	}
}

func (s *Service) InFlight() int { return s.registry.Len() }

func (s *Service) TrainingsInFlight() (n int) {
	if !s.HasTraining() { // spares a walk through all retained predictions
		return 0
	}
	for _, p := range s.registry.All() {
		if p.Request.Kind == predict.KindTraining {
			n++
		}
	}
	return n
}

func (s *Service) HasTraining() bool {
	m := s.model.Load()
	return m != nil && m.training
}

// Cancel cancels the prediction with that id. It returns true if the prediction is in flight, or is retained as
// canceled: so a client that repeats its request gets the same answer.
func (s *Service) Cancel(kind predict.Kind, id string) bool {
	if p := s.registry.Get(kind, id); p != nil {
		p.Cancel()
		return true
	}
	p := s.registry.Find(kind, id)
	return p != nil && p.Record().Status == predict.Canceled
}

// Find returns the prediction in flight with that id, or nil.
func (s *Service) Find(kind predict.Kind, id string) *predict.Prediction {
	return s.registry.Get(kind, id)
}

// Result returns the prediction with that id, in flight or retained, with its record and its input. The caller releases
// it.
func (s *Service) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	p := s.registry.Find(kind, id)
	if p == nil || !p.TryHold() {
		return nil, predict.Record{}, false
	}
	rec := p.Record()
	rec.Input = s.VisibleInput(kind, p.Request.Function, p.Input())
	rec.QueuePosition = s.QueuePosition(kind, id)
	return p, rec, true
}

// VisibleInput returns an input as clients see it, secrets redacted.
func (s *Service) VisibleInput(kind predict.Kind, function string, input []byte) []byte {
	input = predict.ShowPlaceholders(input)
	m := s.model.Load()
	if m != nil {
		m = m.of(function)
	}
	if m != nil && m.inputs[kind] != nil {
		input = m.inputs[kind].Redact(input)
	}
	return input
}

// Idle returns a channel that is closed once no prediction is in flight.
func (s *Service) Idle() <-chan struct{} { return s.registry.Idle() }

// Defunct says why the server is defunct and does not recover by itself; nil means it is not, or may. A failed setup is
// another state: its logs can still be read.
func (s *Service) Defunct() error {
	if v := s.view(); v.status(slot.Load{}) == health.Defunct && v.hopeless == len(v.workers) {
		return &predict.NotReadyError{Reason: v.reason()}
	}
	return nil
}

func (s *Service) Close() { s.registry.Close() }

// OpenAPI returns the model's schema document, once setup has succeeded.
func (s *Service) OpenAPI() ([]byte, bool) {
	m := s.model.Load()
	if m == nil || !s.wasReady() {
		return nil, false
	}
	return m.openapi, true
}
