package service

import "sync"

// shared runs a function for all who ask for it while it runs. The zero value is ready.
type shared[T any] struct {
	mu      sync.Mutex
	current *run[T]
}

type run[T any] struct {
	done   chan struct{}
	result T
}

// do is f's result: of the run in progress, or of a new one.
func (s *shared[T]) do(f func() T) T {
	s.mu.Lock()
	r := s.current
	if r == nil {
		r = &run[T]{done: make(chan struct{})}
		s.current = r
		go func() {
			r.result = f()
			s.mu.Lock()
			s.current = nil
			s.mu.Unlock()
			close(r.done)
		}()
	}
	s.mu.Unlock()
	<-r.done
	return r.result
}
