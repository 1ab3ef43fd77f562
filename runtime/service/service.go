package service

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// Options of a service.
type Options struct {
	Pool   *slot.Pool
	Files  *files.Store
	Logger *slog.Logger
	// Queue tells whether predictions may wait: they may then be taken while a worker restarts.
	Queue bool
	// Version is what health says of this server: "pinion", "cog" and so on.
	Version map[string]string
	// OnShutdown is called when a client asks for a shutdown. It must not block.
	OnShutdown func()
	// Webhooks delivers what predictions with a webhook have to tell; nil: nobody is told.
	Webhooks Notifier
	// Observer is told of the ends of predictions; nil: nobody is.
	Observer Observer
	// UploadURL is where output files are uploaded; "": they come as data URLs, unless a request says more.
	UploadURL string
	// Outputs says what happens to outputs that are not what the model's return annotation says.
	Outputs OutputCheck
	// Keep says how long ended predictions can be asked for.
	Keep predict.Retention
	// Prediction is what every prediction knows of its server.
	Prediction predict.Options
	// Memory is the budget of Keep and Prediction too; nil: there is no limit.
	Memory *memory.Budget
}

// Notifier delivers webhooks.
type Notifier interface {
	// Attach follows a prediction, whose Request names a webhook, before it is carried out.
	Attach(p *predict.Prediction)
}

// Service carries predictions out. It implements httpd.Service.
type Service struct {
	o        Options
	registry *predict.Registry
	draining atomic.Bool
	model    atomic.Pointer[model]
	changed  chan struct{} // one token: the workers' states changed
	check    shared[error]
	examples shared[*ExampleRun]
	door     door
	// A request with an X-Request-Id has come: until then nobody looks for one.
	requestIDs atomic.Bool

	mu      sync.Mutex
	workers []*supervise.Supervisor
	ready   bool // a worker was ready at least once
}

// model is what the workers said of the model.
type model struct {
	openapi   []byte
	inputs    [2]*schema.Schema // by predict.Kind; nil: its inputs are not checked
	outputs   *outputs
	example   []byte // inputs that it gives as an example; nil: it gives none
	streaming bool
	training  bool
	trainOnly bool // there is no predict function: who asks for a prediction gets a training
	check     bool // it has a healthcheck of its own
	batched   bool // its predictions ride together
	keys      []key
	cog       string
	python    string
}

// New makes a service without workers.
func New(o Options) *Service {
	o.Keep.Memory, o.Prediction.Memory = o.Memory, o.Memory
	return &Service{o: o, registry: predict.NewRegistry(o.Keep), changed: make(chan struct{}, 1)}
}

// Watch tells the service of a worker. Its OnLoaded and OnChange are to be Loaded and Changed.
func (s *Service) Watch(w *supervise.Supervisor) {
	s.mu.Lock()
	s.workers = append(s.workers, w)
	s.mu.Unlock()
}

// Loaded takes in what a worker says of its model.
func (s *Service) Loaded(l supervise.Loaded) {
	m := &model{
		openapi: l.Schema, streaming: l.Streaming, training: l.Train, check: l.Healthcheck, example: l.Example, cog: l.Cog, python: l.Python,
	}
	results := map[predict.Kind]string{}
	if l.Train {
		m.inputs[predict.KindTraining] = s.compile(l.Schema, "TrainingInput")
		results[predict.KindTraining] = "TrainingOutput"
	}
	if m.trainOnly = l.Train && !l.Predict; m.trainOnly {
		m.inputs[predict.KindPrediction] = m.inputs[predict.KindTraining]
		results[predict.KindPrediction] = "TrainingOutput"
	} else {
		m.inputs[predict.KindPrediction] = s.compile(l.Schema, "Input")
		results[predict.KindPrediction] = "Output"
	}
	m.outputs = s.compileOutputs(l.Schema, results)
	if l.Batch != nil {
		m.batched, m.keys = true, keysOf(l.Schema, l.Batch.Keys)
	}
	s.model.Store(m)
}

// compile is the schema of that name, or nil where it cannot be used.
func (s *Service) compile(openapi []byte, name string) *schema.Schema {
	compiled, err := schema.Compile(openapi, name)
	if err != nil {
		// A schema file that came with the model; the SDK's own is tested against this compiler.
		s.o.Logger.Error("the model's schema cannot be used: inputs are not checked", "schema", name, "error", err)
		return nil
	}
	return compiled
}

// Changed is told that a worker's status changed.
func (s *Service) Changed() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
	v := s.view()
	if v.ready > 0 {
		s.mu.Lock()
		s.ready = true
		s.mu.Unlock()
	}
	s.mind()
}

// Changes has a token after the workers' states changed.
func (s *Service) Changes() <-chan struct{} { return s.changed }

// Drain lets no prediction in any more.
func (s *Service) Drain() { s.draining.Store(true) }

// CancelAll asks for the end of every prediction in flight.
func (s *Service) CancelAll() {
	for _, p := range s.registry.All() {
		p.Cancel()
	}
}

// InFlight is how many predictions have not ended.
func (s *Service) InFlight() int { return s.registry.Len() }

// Shutdown passes a client's wish on.
func (s *Service) Shutdown() { s.o.OnShutdown() }

// HasTraining tells whether the model has a training interface.
func (s *Service) HasTraining() bool {
	m := s.model.Load()
	return m != nil && m.training
}

// Cancel asks for the end of the prediction of that id. true: it is in flight, or remembered as canceled, so that a client
// that asks again learns that its wish was heard.
func (s *Service) Cancel(kind predict.Kind, id string) bool {
	if p := s.registry.Get(kind, id); p != nil {
		p.Cancel()
		return true
	}
	p := s.registry.Find(kind, id)
	return p != nil && p.Record().Status == predict.Canceled
}

// Find is the prediction in flight of that id, or nil.
func (s *Service) Find(kind predict.Kind, id string) *predict.Prediction {
	return s.registry.Get(kind, id)
}

// Result is the prediction of that id, which is in flight or has ended not long ago, with its record and its input. It is held for
// the caller.
func (s *Service) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	p := s.registry.Find(kind, id)
	if p == nil || !p.Look() {
		return nil, predict.Record{}, false
	}
	rec := p.Record()
	rec.Input = predict.ShowStandIns(p.Input())
	rec.Place = s.Place(kind, id)
	if m := s.model.Load(); m != nil && m.inputs[kind] != nil {
		rec.Input = m.inputs[kind].Redact(rec.Input)
	}
	return p, rec, true
}

// Start carries a prediction out in the background. It has its place in the line then, unless it has files.
func (s *Service) Start(p *predict.Prediction) {
	p.Hold()
	p.Submit()
	go func() {
		defer p.Release()
		_ = p.Wait() // its record has the error
	}()
}

// Idle is closed once no prediction is in flight.
func (s *Service) Idle() <-chan struct{} { return s.registry.Idle() }

// Ready is nil where predictions are taken, or why not.
func (s *Service) Ready() error { return s.takes() }

// Defunct is nil, or why the server is defunct. One whose setup has failed is not: its logs are to be read.
func (s *Service) Defunct() error {
	if v := s.view(); v.status(slot.Load{}) == "DEFUNCT" {
		return &predict.NotReadyError{Reason: v.reason()}
	}
	return nil
}

// Close forgets the predictions that have ended.
func (s *Service) Close() { s.registry.Close() }

// OpenAPI is the model's schema document, once setup has ended well.
func (s *Service) OpenAPI() ([]byte, bool) {
	m := s.model.Load()
	if m == nil || !s.wasReady() {
		return nil, false
	}
	return m.openapi, true
}

// Create takes a prediction in, or refuses it. The caller must call Wait of what it gets.
func (s *Service) Create(req predict.Request) (*predict.Prediction, error) {
	p, err := s.create(req)
	if err != nil {
		s.refused(&req, err)
	}
	return p, err
}

func (s *Service) create(req predict.Request) (*predict.Prediction, error) {
	if err := s.takes(); err != nil {
		return nil, err
	}
	id := req.ID
	now := time.Now()
	if id == "" {
		id = predict.NewID(now)
	}
	if req.Input == nil {
		req.Input = []byte("{}")
	}
	prepared, err := s.prepare(id, &req)
	if err != nil {
		return nil, err
	}
	j := &job{service: s, prepared: prepared, arrived: now}
	p := predict.New(id, req, now, j, s.o.Prediction)
	j.p = p
	p.Warnings = prepared.Warnings
	if req.RequestID != "" && !s.requestIDs.Load() {
		s.requestIDs.Store(true)
	}
	if err := s.registry.Add(p); err != nil {
		return nil, err
	}
	if err := s.o.Pool.Admit(); err != nil {
		s.registry.Remove(p)
		return nil, err
	}
	if err := j.take(); err != nil {
		s.o.Pool.Leave()
		s.registry.Remove(p)
		return nil, err
	}
	if req.Attachments != nil {
		p.OnRelease(req.Attachments.Close)
	}
	if req.Webhook != "" && s.o.Webhooks != nil {
		s.o.Webhooks.Attach(p)
	}
	return p, nil
}

// prepare checks what is asked for against the model, and makes the input that it may get.
func (s *Service) prepare(id string, req *predict.Request) (schema.Prepared, error) {
	m := s.model.Load()
	switch {
	case req.Kind == predict.KindTraining && !m.training:
		return schema.Prepared{}, predict.ErrNoTraining
	case req.Mode == predict.Stream && req.Kind == predict.KindTraining:
		return schema.Prepared{}, predict.ErrTrainingStream
	case req.Mode == predict.Stream && !m.streaming:
		return schema.Prepared{}, predict.ErrNotStreaming
	case m.inputs[req.Kind] == nil:
		return unchecked(req)
	}
	prepared, err := prepareInput(m.inputs[req.Kind], req)
	if err == nil && len(prepared.Unknown) > 0 {
		attrs := []any{"prediction_id", predict.Clip(id), "inputs", prepared.Unknown}
		if req.RequestID != "" {
			attrs = append(attrs, "request_id", req.RequestID)
		}
		s.o.Logger.Warn("unknown inputs are dropped", attrs...)
		req.Input = prepared.Input // nor are they shown again: a misspelt name may have a secret's value
	}
	return prepared, err
}

// takes is nil where a prediction may be taken in now, or the reason why not.
func (s *Service) takes() error {
	if s.draining.Load() {
		return errStopping()
	}
	if load := s.o.Pool.Load(); load.Slots > 0 {
		return nil
	}
	v := s.view()
	if s.o.Queue && s.wasReady() && v.defunct < len(v.workers) {
		return nil // a worker restarts; there is a queue to wait in
	}
	return &predict.NotReadyError{Reason: v.reason()}
}

// wasReady tells whether a worker was ever ready. One may be, and its supervisor not have said so yet.
func (s *Service) wasReady() bool {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	return ready || s.view().ready > 0
}
