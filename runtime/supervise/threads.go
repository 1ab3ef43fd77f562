package supervise

import "pinion/runtime/slot"

// Stuck requests a successor, because a thread of the worker does not end its prediction.
func (p *process) Stuck(why string) {
	select {
	case p.stuck <- why:
	default: // one was requested already
	}
}

// replaceStuck lets a worker with a stuck thread finish its other predictions, while its successor starts beside it.
func (w *worker) replaceStuck(why string) {
	if w.retirement != nil || w.stopping || w.terminated {
		return
	}
	w.sup.o.Logger.Error("a thread of a worker is stuck: the worker finishes its other predictions and exits",
		"worker", w.sup.o.Index, "cause", why)
	w.retirement = &retirement{why: why, fault: CauseCancelTimeout}
	w.move(Draining, nil)
	w.drained = w.sup.o.Pool.Retire(w.slots)
	if w.sup.o.Policy.Restart != Never {
		w.sup.Renew(why)
	}
}

// exitForCalls returns what the calls of a worker that has ended need to know.
func (w *worker) exitForCalls(cause string, logs func() []byte) slot.WorkerExit {
	e := slot.WorkerExit{Cause: cause, Logs: logs}
	if i := w.process.page.Crashed(); w.setup.model.Threads() && i > 0 && i <= len(w.slots) {
		e.Crashed = w.slots[i-1]
	}
	return e
}
