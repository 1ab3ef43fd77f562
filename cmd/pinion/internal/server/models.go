package server

import (
	"slices"
	"sync"
	"sync/atomic"

	"pinion/cmd/pinion/internal/modelhost"
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

// all returns the models that requests find; the first one is the default.
func (f *Server) all() []*servedModel { return f.models.all() }

// first returns the default model, or nil if SageMaker has loaded none yet.
func (f *Server) first() *servedModel {
	if list := f.all(); len(list) > 0 {
		return list[0]
	}
	return nil
}

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
