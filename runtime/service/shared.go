package service

import "sync"

// shared runs a function for all who ask for it while it runs. The zero value is ready.
type shared struct {
	mu      sync.Mutex
	current *run
}

type run struct {
	done chan struct{}
	err  error
}

// run is f's result: of the run in progress, or of a new one.
func (s *shared) run(f func() error) error {
	s.mu.Lock()
	r := s.current
	if r == nil {
		r = &run{done: make(chan struct{})}
		s.current = r
		go func() {
			r.err = f()
			s.mu.Lock()
			s.current = nil
			s.mu.Unlock()
			close(r.done)
		}()
	}
	s.mu.Unlock()
	<-r.done
	return r.err
}
