package server

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/modelhost"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
)

// models are those of the server. The file of models may be read again, so they come and go.
type models struct {
	served  atomic.Pointer[[]*servedModel]       // that requests find; the first one is the default
	grouped atomic.Pointer[map[string]*versions] // those of served that have several versions, by the model's name

	changing sync.Mutex // held while served or a route is replaced, and before mu
	mirrors  []string   // that the file names; guarded by changing

	mu       sync.Mutex
	unrouted []*servedModel // that are being set up, or leave
	stopped  bool           // no more come
}

// first returns the default model, or nil if SageMaker has loaded none yet.
func (s *models) first() *servedModel {
	if list := s.all(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// all returns the models that requests find; the first one is the default.
func (s *models) all() []*servedModel {
	if list := s.served.Load(); list != nil {
		return *list
	}
	return nil
}

// versioned returns the models that have several versions, by their names.
func (s *models) versioned() map[string]*versions {
	if grouped := s.grouped.Load(); grouped != nil {
		return *grouped
	}
	return nil
}

func (s *models) replace(list []*servedModel) { s.served.Store(&list) }

// every returns also those that are being set up, or leave.
func (s *models) every() []*servedModel {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.all())
	for _, m := range s.unrouted {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// hosted returns the same for their host.
func (s *models) hosted() (hosted []*modelhost.Model) {
	for _, m := range s.every() {
		hosted = append(hosted, m.Model)
	}
	return hosted
}

// add lets a model be there beside those that are served; false means the server stops.
func (s *models) add(m *servedModel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped && !slices.Contains(s.unrouted, m) {
		s.unrouted = append(s.unrouted, m)
	}
	return !s.stopped
}

// remove ends add.
func (s *models) remove(m *servedModel) {
	s.mu.Lock()
	s.unrouted = slices.DeleteFunc(s.unrouted, func(other *servedModel) bool { return other == m })
	s.mu.Unlock()
}

// stop keeps more models from coming.
func (s *models) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
}

// knownModels returns the models as other protocols know them.
func (s *models) knownModels() (known []*protocol.Model) {
	for _, m := range s.all() {
		of := m.target.known
		if v := s.versionsOf(m); v != nil {
			of = v.route.Load().known
		}
		if !slices.ContainsFunc(known, func(other *protocol.Model) bool { return other.Name == of.Name }) {
			known = append(known, of)
		}
	}
	return known
}

// queues returns the queues of the models, each once.
func (s *models) queues() (queues []*modelQueue) {
	for _, m := range s.all() {
		if m.queue != nil && !slices.Contains(queues, m.queue) {
			queues = append(queues, m.queue)
		}
	}
	return queues
}

// firstRoute returns the route of the default model, or nil.
func (s *models) firstRoute() place.Route {
	m := s.first()
	if m == nil {
		return nil
	}
	if v := s.versionsOf(m); v != nil {
		return v
	}
	return m.target
}

// ready says why the server is not ready: a first setup goes on, or no model takes predictions.
func (s *models) ready() error {
	if len(s.all()) == 0 {
		return place.ErrNoModel
	}
	var first error
	serves := false
	for _, m := range s.all() {
		err := m.target.Ready()
		if err == nil {
			serves = true
			continue
		}
		if first == nil {
			first = fmt.Errorf("model %s: %w", m.Name, err)
		}
		if m.Lifecycle.FirstLoadPending() {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	if serves {
		return nil
	}
	return first
}

func (s *models) workerCount() (n int) {
	for _, m := range s.all() {
		n += m.of.GPUs.Workers
	}
	return n
}

// working reports whether a prediction runs, or waits for a worker.
func (s *models) working() bool {
	return slices.ContainsFunc(s.every(), func(m *servedModel) bool { return m.Pool.Load().InFlight > 0 })
}

func (s *models) inFlight() (n int) {
	for _, m := range s.every() {
		n += m.Service.InFlight()
	}
	return n
}

// cancelGrace returns how long canceled predictions may take before their workers are killed.
func (s *models) cancelGrace() (grace time.Duration) {
	for _, m := range s.every() {
		grace = max(grace, m.of.Settings.CancelGrace)
	}
	return grace
}

// versionsOf returns the versions to which a model belongs, or nil if it has none.
func (s *models) versionsOf(m *servedModel) *versions {
	name, _ := m.split()
	return s.versioned()[name]
}
