package service

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/files"
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
}

// Service carries predictions out. It implements httpd.Service.
type Service struct {
	o        Options
	registry *predict.Registry
	draining atomic.Bool
	model    atomic.Pointer[model]
	changed  chan struct{} // one token: the workers' states changed

	mu      sync.Mutex
	workers []*supervise.Supervisor
	ready   bool // a worker was ready at least once
}

// model is what the workers said of the model.
type model struct {
	openapi []byte
	input   *schema.Schema
	cog     string
	python  string
}

// New makes a service without workers.
func New(o Options) *Service {
	return &Service{o: o, registry: predict.NewRegistry(), changed: make(chan struct{}, 1)}
}

// Watch tells the service of a worker. Its OnLoaded and OnChange are to be Loaded and Changed.
func (s *Service) Watch(w *supervise.Supervisor) {
	s.mu.Lock()
	s.workers = append(s.workers, w)
	s.mu.Unlock()
}

// Loaded takes in what a worker says of its model.
func (s *Service) Loaded(l supervise.Loaded) {
	input, err := schema.Compile(l.Schema, "Input")
	if err != nil {
		// A schema file that came with the model; the SDK's own is tested against this compiler.
		s.o.Logger.Error("the model's schema cannot be used: inputs are not checked", "error", err)
	}
	s.model.Store(&model{openapi: l.Schema, input: input, cog: l.Cog, python: l.Python})
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
	if v.ready == 0 && v.defunct == len(v.workers) && len(v.workers) > 0 {
		s.o.Pool.Refuse(&predict.NotReadyError{Reason: v.reason()})
	}
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
func (s *Service) HasTraining() bool { return false }

// Cancel asks for the end of the prediction of that id; false: there is none in flight.
func (s *Service) Cancel(id string) bool {
	p := s.registry.Get(id)
	if p == nil {
		return false
	}
	p.Cancel()
	return true
}

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
	j := &job{service: s}
	if m := s.model.Load(); m.input != nil {
		prepared, err := m.input.Prepare(req.Input)
		if err != nil {
			return nil, err
		}
		if len(prepared.Unknown) > 0 {
			s.o.Logger.Warn("unknown inputs are dropped", "prediction_id", id, "inputs", prepared.Unknown)
		}
		j.prepared = prepared
	} else {
		j.prepared = schema.Prepared{Input: req.Input}
	}
	p := predict.New(id, req, now, j)
	if err := s.registry.Add(p); err != nil {
		return nil, err
	}
	if err := s.o.Pool.Admit(); err != nil {
		s.registry.Remove(p)
		return nil, err
	}
	return p, nil
}

// takes is nil where a prediction may be taken in now, or the reason why not.
func (s *Service) takes() error {
	if s.draining.Load() {
		return &predict.NotReadyError{Reason: "The server is shutting down"}
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
