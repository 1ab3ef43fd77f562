package service

import (
	"sync"

	"pinion/runtime/predict"
)

// gate is the admission gate of the pool: it is closed while no worker can become ready soon.
type gate struct {
	mu     sync.Mutex // held while the workers are inspected, so that the last inspection wins
	closed bool
}

// updateGate closes the gate when every worker is defunct or cannot be started, and opens it afterwards.
func (s *Service) updateGate() {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	v := s.view()
	closed := v.closed()
	switch {
	case closed:
		s.o.Pool.Refuse(v.notReady())
	case s.gate.closed && !s.draining.Load():
		s.o.Pool.Refuse(nil)
	}
	s.gate.closed = closed
}

// queuePosition returns the prediction's position in the queue, from 1; 0 means it is not queued.
func (x *execution) queuePosition() int {
	if call := x.sent(); call != nil {
		return x.service.o.Pool.QueuePosition(call)
	}
	return 0
}

// Waits reports whether the model has not begun the prediction.
func (x *execution) Waits() bool {
	call := x.sent()
	return call == nil || x.service.o.Pool.QueuePosition(call) > 0
}

// Locate notes where a prediction in flight is: in the queue, or at a worker.
func (s *Service) Locate(summary *predict.Summary) {
	p := s.registry.Get(summary.Kind, summary.ID)
	if p == nil {
		return
	}
	if x, ok := p.Runner().(*execution); ok {
		if call := x.sent(); call != nil {
			summary.QueuePosition = s.o.Pool.QueuePosition(call)
			summary.Worker, summary.Running = s.o.Pool.Running(call)
		}
	}
}

// QueuePosition returns the position in the queue of the prediction with that id, from 1; 0 means it is not queued.
func (s *Service) QueuePosition(kind predict.Kind, id string) int {
	if p := s.registry.Get(kind, id); p != nil {
		if x, ok := p.Runner().(*execution); ok { // else it has ended
			return x.queuePosition()
		}
	}
	return 0
}
