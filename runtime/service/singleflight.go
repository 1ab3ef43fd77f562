package service

import "sync"

// singleflight lets concurrent callers share one run of a function. The zero value is ready.
type singleflight[T any] struct {
	mu      sync.Mutex
	current *flight[T]
}

type flight[T any] struct {
	done   chan struct{}
	result T
}

// do returns f's result, of the run in progress or of a new one.
func (s *singleflight[T]) do(f func() T) T {
	s.mu.Lock()
	r := s.current
	if r == nil {
		r = &flight[T]{done: make(chan struct{})}
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
