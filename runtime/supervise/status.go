package supervise

import (
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// SetupStatus is how the newest setup went.
type SetupStatus struct {
	Started   time.Time
	Completed time.Time // zero while it runs
	Failed    bool
	Logs      string
	Problem   *ipc.Problem // why it failed, if the worker said so
}

// ProcessStatus is the part of a Status that belongs to one process.
type ProcessStatus struct {
	State  State
	PID    int
	Setup  SetupStatus
	Python string
	CUDA   map[string]any
}

// Status is what health says of one worker.
type Status struct {
	ProcessStatus
	LastExit    string // how the last process ended that was not asked to, in words; "": none did
	ExitedAt    time.Time
	Restarts    int       // processes after the first
	Successor   *State    // of the process that is to take over, or nil
	Defunct     bool      // it has ended and none is started in its place, at least until NextStart
	Hopeless    bool      // it is defunct, and the server does not recover by itself
	Blocked     bool      // the server fails to start a process, again and again
	SetupFailed bool      // it is defunct because its setup failed, and none ever worked
	NextStart   time.Time // when the next process is tried after failures; zero: none is waited for
}

func (st *Status) clearDefunct() {
	st.Defunct, st.SetupFailed, st.Hopeless, st.NextStart = false, false, false, time.Time{}
}

func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if s.current != nil {
		st.ProcessStatus = s.current.status
	}
	if s.successor != nil {
		state := s.successor.status.State
		st.Successor = &state
	}
	return st
}

// change changes the part of the status that outlives a process.
func (s *Supervisor) change(f func(*Status)) {
	s.mu.Lock()
	f(&s.status)
	s.mu.Unlock()
	s.o.Hooks.OnChange()
}

func (w *worker) change(f func(*ProcessStatus)) {
	w.sup.mu.Lock()
	f(&w.status)
	w.sup.mu.Unlock()
	w.sup.o.Hooks.OnChange()
}

// Report is a Status and the figures that are looked up for it.
type Report struct {
	Status
	Device string    // its GPUs; "": all
	Busy   int       // slots with a call
	Since  time.Time // when the oldest of these calls could begin; zero: there is none
	Slots  int       // predictions that it runs at once
	Served int       // answers of its process
	Memory int64     // resident bytes of its process; 0: unknown
}

func (s *Supervisor) Report() Report {
	r := Report{Status: s.Status(), Device: s.o.Device}
	s.addSetupLogs(&r.Setup)
	s.mu.Lock()
	var slots []*slot.Slot
	if s.current != nil {
		slots = s.current.slots
	}
	s.mu.Unlock()
	load := s.o.Pool.WorkerLoad(slots)
	r.Served, r.Busy, r.Since, r.Slots = load.Answered, min(load.Busy, len(slots)), load.Since, len(slots)
	if r.PID != 0 {
		r.Memory = resident(r.PID)
	}
	return r
}

// started shows, with the move to Ready, that a worker serves again.
func (s *Supervisor) started() {
	s.mu.Lock()
	s.status.clearDefunct()
	s.status.Blocked = false
	s.mu.Unlock()
}
