package predict

import "sync"

// Registry holds the predictions in flight by id. The zero value is not usable; see NewRegistry.
type Registry struct {
	mu sync.Mutex
	by map[string]*Prediction
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{by: make(map[string]*Prediction)} }

// Add enters p, or returns ErrInFlight where its id is taken.
func (r *Registry) Add(p *Prediction) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.by[p.ID()]; taken {
		return ErrInFlight
	}
	r.by[p.ID()] = p
	return nil
}

// Remove takes p out.
func (r *Registry) Remove(p *Prediction) {
	r.mu.Lock()
	delete(r.by, p.ID())
	r.mu.Unlock()
}

// Get finds the prediction of that id, or nil.
func (r *Registry) Get(id string) *Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[id]
}

// Len is how many are in flight.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.by)
}

// All is a snapshot of those in flight.
func (r *Registry) All() []*Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Prediction, 0, len(r.by))
	for _, p := range r.by {
		all = append(all, p)
	}
	return all
}
