package service

import (
	"sync"

	"pinion/runtime/predict"
	"pinion/runtime/supervise"
)

// door lets predictions into the pool, or does not.
type door struct {
	mu   sync.Mutex // held while the workers are looked at, so that the last look counts
	shut bool       // no worker is left
}

// mind has the pool refuse everything where no worker is left, and opens it where one is started after all.
func (s *Service) mind() {
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	v := s.view()
	defunct := v.defunct == len(v.workers) && len(v.workers) > 0
	switch {
	case defunct:
		s.o.Pool.Refuse(&predict.NotReadyError{Reason: v.reason()})
	case s.door.shut && !s.draining.Load():
		s.o.Pool.Refuse(nil)
	}
	s.door.shut = defunct
}

// reports is what there is to say of each worker.
func (s *Service) reports() []supervise.Report {
	s.mu.Lock()
	workers := s.workers
	s.mu.Unlock()
	reports := make([]supervise.Report, len(workers))
	for i, w := range workers {
		reports[i] = w.Report()
	}
	return reports
}

// place is the prediction's place in the line, from 1; 0: it is not in the line (any more).
func (j *job) place() int {
	j.mu.Lock()
	call := j.call
	j.mu.Unlock()
	if call == nil {
		return 0
	}
	return j.service.o.Pool.Place(call)
}

// Place is the place in the line of the prediction of that id, from 1; 0: there is none that waits.
func (s *Service) Place(kind predict.Kind, id string) int {
	p := s.registry.Get(kind, id)
	if p == nil {
		return 0
	}
	j, ok := p.Runner().(*job)
	if !ok { // it has ended
		return 0
	}
	return j.place()
}
