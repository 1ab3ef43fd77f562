package supervise

import "time"

// Report is all that there is to say of a worker at this moment.
type Report struct {
	Status
	Device string    // its GPUs; "": all that there are
	Busy   int       // of its slots: what else lies in its sockets still waits
	Since  time.Time // when the oldest of these could begin; zero where it has none
	Served int       // answers of its process
	Memory int64     // of its process, resident, in bytes; 0 where that is not known
}

// Report is the status, and what has to be looked up for it.
func (s *Supervisor) Report() Report {
	r := Report{Status: s.Status(), Device: s.o.Device}
	s.mu.Lock()
	l := s.current
	s.mu.Unlock()
	if l != nil {
		s.mu.Lock()
		slots := l.slots
		s.mu.Unlock()
		v := s.o.Pool.Vitals(slots)
		r.Served, r.Busy, r.Since = v.Answered, min(v.Busy, len(slots)), v.Since
	}
	if r.PID != 0 {
		r.Memory = resident(r.PID)
	}
	return r
}
