package supervise

import (
	"cmp"
	"errors"
	"fmt"
)

// rankCount returns how many processes a worker with this task is: as the operator or cog.yaml says, or else the model's
// @cog.ranks. 0 means one, whose model may say that it wants more.
func (s *Supervisor) rankCount(t task) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(t.spec.Ranks, s.ranks)
}

// rankTasks returns the task of rank 0, those of the other ranks, and the port where they meet.
func (s *Supervisor) rankTasks(t task) (first task, others []task, port int, err error) {
	count := s.rankCount(t)
	t.spec.Ranks = count
	if count < 2 {
		return t, nil, 0, nil
	}
	if port, err = masterPort(); err != nil {
		return t, nil, 0, err
	}
	s.mu.Lock()
	restarts := s.status.Restarts
	s.mu.Unlock()
	for i := range count {
		own := task{t.spec, rankEnv(t.env, i, count, port, restarts, s.runID())}
		own.spec.Rank = i
		if i == 0 {
			first = own
		} else {
			others = append(others, own)
		}
	}
	return first, others, port, nil
}

// regroup ends a worker whose model wants another number of ranks, which the next worker has.
func (w *worker) regroup(want int) error {
	var err error
	if w.sup.o.CheckRanks != nil {
		err = w.sup.o.CheckRanks(want)
	}
	if err == nil && w.sup.o.Preloader != nil {
		err = errors.New("--preload cannot be combined with ranks: the model reads RANK when it is imported; leave --preload out")
	}
	if err != nil {
		w.setup.failure = fmt.Sprintf("the model has @cog.ranks(%d): %v", want, err)
		w.setup.late, w.setup.stage = nil, Exited
		w.terminate(CauseSetupFailed, w.setup.failure)
		return nil
	}
	w.sup.mu.Lock()
	w.sup.ranks = want
	if want == 1 {
		w.sup.ranks = 0
	}
	w.sup.mu.Unlock()
	w.regrouped = true
	w.setup.late = nil
	w.terminate(CauseLeft, fmt.Sprintf("the model has @cog.ranks(%d)", want))
	return nil
}

func (s *Supervisor) countPorts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports++
	return s.ports
}

// size is how many processes the worker is.
func (w *worker) size() int {
	if w.group == nil {
		return 1
	}
	return len(w.group.all())
}

// startsDifferently reports whether another worker is started at once, because this one had the wrong number of ranks,
// or another process had taken its port.
func (w *worker) startsDifferently() bool {
	switch g := w.group; {
	case w.regrouped:
		return true
	case g == nil || isFree(g.port) || w.sup.countPorts() > portTries:
		return false
	default:
		w.sup.o.Logger.Warn("the setup is tried again with another MASTER_PORT, because another process has taken this one",
			"worker", w.sup.o.Index, "port", g.port, "cause", w.setup.failure)
		return true
	}
}
