package supervise

import (
	"strings"
	"time"

	"pinion/ipc"
	"pinion/runtime/health"
	"pinion/runtime/logtext"
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
	Ranks  []int // their processes, by rank; nil for a worker of one process
}

// Status is what health says about one worker.
type Status struct {
	ProcessStatus
	LastExit    string // how the last process ended that was not asked to, in words, or ""
	ExitedAt    time.Time
	Restarts    int       // processes after the first
	Successor   *State    // of the process that is to take over, or nil
	Defunct     bool      // it has ended and none is started in its place, at least until NextStart
	Hopeless    bool      // it is defunct, and the server does not recover by itself
	Blocked     bool      // the server fails to start a process, again and again
	SetupFailed bool      // it is defunct because its setup failed, and none ever worked
	NextStart   time.Time // when the next process is tried after failures, or zero
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

// Health returns the worker's part of the health document.
func (s *Supervisor) Health() health.Worker {
	st := s.Status()
	s.mu.Lock()
	var slots []*slot.Slot
	var p *process
	if s.current != nil {
		slots, p = s.current.slots, s.current.process
	}
	s.mu.Unlock()
	load := s.o.Pool.WorkerLoad(slots)
	h := health.Worker{
		PID: st.PID, State: st.State.String(), CUDA: st.CUDA, LastExit: st.LastExit, ExitedAt: health.Time{Time: st.ExitedAt},
		NextStart: health.Time{Time: st.NextStart}, Restarts: st.Restarts, Device: s.o.Device,
		Busy: min(load.Busy, len(slots)), BusySince: health.Time{Time: load.Since}, Served: load.Answered,
	}
	if len(slots) > 1 {
		h.Concurrency = len(slots)
	}
	if st.PID != 0 && p != nil {
		h.MemoryBytes, _ = p.memory()
		devices := strings.Split(s.o.Device, ",")
		for i, pid := range st.Ranks {
			r := health.Rank{Rank: i, PID: pid, MemoryBytes: h.MemoryBytes}
			if i > 0 {
				r.MemoryBytes = resident(pid)
				h.MemoryBytes += r.MemoryBytes
			}
			if i < len(devices) {
				r.Device = devices[i]
			}
			h.Ranks = append(h.Ranks, r)
		}
	}
	if st.Successor != nil {
		h.Successor = st.Successor.String()
	}
	return h
}

// Setup returns the health document's description of the newest setup, with the logs until now, or nil if none has
// begun.
func (s *Supervisor) Setup() *health.Setup {
	st := s.Status().Setup
	if st.Started.IsZero() {
		return nil
	}
	s.addSetupLogs(&st)
	s.mu.Lock()
	if w := s.current; w != nil && w.process != nil {
		st.Logs = w.process.from.setupText() + st.Logs
	}
	s.mu.Unlock()
	h := &health.Setup{
		StartedAt: health.Time{Time: st.Started}, CompletedAt: health.Time{Time: st.Completed},
		Status: health.SetupSucceeded, Logs: st.Logs,
	}
	switch {
	case st.Completed.IsZero():
		h.Status = health.SetupStarting
		addProgress(h)
	case st.Failed:
		h.Status = health.SetupFailed
	}
	return h
}

// addProgress adds the progress of a running setup.
func addProgress(h *health.Setup) {
	h.Seconds = threeDigits(time.Since(h.StartedAt.Time).Seconds())
	h.LastLine = logtext.LastLine(h.Logs)
	if percent, ok := logtext.Percent(h.LastLine); ok {
		h.Percent = &percent
	}
}

// started updates the status, with the move to Ready: a worker serves again.
func (s *Supervisor) started() {
	s.mu.Lock()
	s.status.clearDefunct()
	s.status.Blocked = false
	s.ports = 0
	s.mu.Unlock()
}
