package supervise

import (
	"fmt"
	"time"

	"pinion/runtime/slot"
)

type renewal struct {
	why  string
	once bool // a successor that fails is not tried again
}

// Renew replaces the worker by a new process, which takes over when it is ready; why is for the log. No prediction is
// lost, and one worker of a fleet is renewed at a time. It returns at once; of several waiting requests one is kept.
func (s *Supervisor) Renew(why string) { s.request(renewal{why: why}) }

// RenewOnce is Renew for a model that has changed. A successor that fails is not tried again, because the model must
// change first; a successor that is still being set up is given up for the next request.
func (s *Supervisor) RenewOnce(why string) { s.request(renewal{why: why, once: true}) }

func (s *Supervisor) request(r renewal) {
	select {
	case s.renewals <- r:
	default:
	}
}

// runProcess starts a process and returns when it has ended, or when the last of its successors has.
func (s *Supervisor) runProcess() outcome {
	l := lifecycle{sup: s, current: s.launch(false), renewals: s.renewals, keepsTurn: s.turn}
	for {
		if ended, done := l.step(); done {
			return ended
		}
	}
}

// lifecycle is a chain of processes, each of which takes over from the one before. It runs in the supervisor's
// goroutine.
type lifecycle struct {
	sup       *Supervisor
	current   *worker
	successor *worker // or nil
	back      backoff // of successors that fail

	renewals  <-chan renewal   // nil during a renewal
	renewal   renewal          // the one in progress
	newer     *renewal         // or nil; replaces renewal once its successor has left
	turn      chan struct{}    // the fleet's turn; nil unless the renewal waits for it
	keepsTurn bool             // the previous process has passed on the turn
	retired   <-chan struct{}  // closed when the process that was replaced has ended
	retry     <-chan time.Time // fires when the renewal is tried again
}

// step waits for one event and handles it. It returns true if no process is left.
func (l *lifecycle) step() (outcome, bool) {
	var successorReady <-chan struct{}
	var successorEnded <-chan outcome
	var newer <-chan renewal
	if l.successor != nil {
		successorReady, successorEnded = l.successor.readied.closed, l.successor.ended
		switch {
		case l.newer != nil:
			successorReady = nil // it may have become ready before it was asked to leave
		case l.renewal.once:
			newer = l.sup.renewals
		}
	}
	var settled <-chan struct{}
	if l.keepsTurn {
		settled = l.current.readied.closed
	}
	select {
	case <-settled:
		l.keepsTurn = false
		l.sup.passTurn()
	case l.renewal = <-l.renewals:
		l.renewals, l.turn = nil, l.sup.o.Fleet.turn
	case r := <-newer:
		l.sup.o.Logger.Info("the worker's successor is given up for a newer one", "worker", l.sup.o.Index, "reason", r.why)
		l.newer = &r
		l.successor.requestRetirement(retirement{why: r.why})
	case l.turn <- struct{}{}:
		l.turn, l.sup.turn = nil, true
		l.renew()
	case <-l.retry:
		l.retry = nil
		l.renew()
	case <-successorReady:
		l.takeOver()
	case ended := <-successorEnded:
		l.successorFailed(ended)
	case <-l.retired:
		l.retired = nil
		l.sup.promote(l.current) // if the old process ended before it could
		l.renewed()
	case ended := <-l.current.ended:
		return l.currentEnded(ended)
	case <-l.sup.stop.closed:
		ended := <-l.current.ended
		if l.successor != nil {
			<-l.successor.ended
		}
		return ended, true
	}
	return outcome{}, false
}

func (l *lifecycle) renew() {
	l.sup.o.Logger.Info("worker is being renewed", "worker", l.sup.o.Index, "reason", l.renewal.why)
	if l.sup.o.Policy.Renewal == StopFirst {
		l.current.requestRetirement(retirement{why: l.renewal.why})
		return // currentEnded continues
	}
	l.successor = l.sup.launch(true)
	l.sup.o.Hooks.OnChange()
}

// renewed ends the renewal and allows the next request.
func (l *lifecycle) renewed() {
	l.sup.passTurn()
	l.renewals = l.sup.renewals
}

// takeOver makes the successor, which has calls already, the current process. Status shows it once the old process has
// left the pool, so a client that sees the new worker is not answered by the old one.
func (l *lifecycle) takeOver() {
	old := l.current
	l.current, l.successor = l.successor, nil
	old.requestRetirement(retirement{why: l.renewal.why, successor: l.current})
	ended := make(chan struct{})
	l.retired = ended
	go func() {
		<-old.ended
		close(ended)
	}()
}

// successorFailed keeps the old process, and tries again later.
func (l *lifecycle) successorFailed(ended outcome) {
	l.successor = nil
	l.sup.mu.Lock()
	l.sup.successor = nil
	l.sup.mu.Unlock()
	l.sup.o.Hooks.OnChange()
	if ended.again {
		l.renew()
		return
	}
	if l.newer != nil {
		l.renewal, l.newer = *l.newer, nil
		l.renew()
		return
	}
	const message = "the worker's successor failed: the old one stays"
	if l.renewal.once && !ended.unstarted {
		l.sup.o.Logger.Error(message, "worker", l.sup.o.Index, "cause", ended.cause)
		l.renewed()
		return
	}
	delay, _ := l.back.died(time.Now(), false)
	delay = max(delay, firstDelay)
	l.sup.o.Logger.Error(message, "worker", l.sup.o.Index, "cause", ended.cause, "next_try", delay.String())
	l.retry = l.sup.after(delay)
}

// currentEnded handles the end of the current process. A successor that is being set up takes over.
func (l *lifecycle) currentEnded(ended outcome) (outcome, bool) {
	l.sup.promote(l.current)
	if l.successor == nil || ended.stopped {
		if l.successor != nil {
			<-l.successor.ended
		}
		if !ended.retired {
			l.sup.passTurn()
		}
		return ended, true
	}
	l.sup.o.Logger.Warn("its successor is being set up already", "worker", l.sup.o.Index)
	l.current, l.successor = l.successor, nil
	l.sup.promote(l.current)
	l.renewed()
	return outcome{}, false
}

// promote makes Status show a successor instead of its predecessor. It does nothing for a worker that is not a
// successor any more.
func (s *Supervisor) promote(successor *worker) {
	s.mu.Lock()
	if s.successor != successor {
		s.mu.Unlock()
		return
	}
	s.current, s.successor = successor, nil
	successor.successor = false
	s.status.Restarts++
	s.mu.Unlock()
	s.o.Hooks.OnChange()
}

// passTurn lets another worker of the fleet be renewed.
func (s *Supervisor) passTurn() {
	if s.turn {
		<-s.o.Fleet.turn
		s.turn = false
	}
}

// slotHooks returns the hooks that the pool calls for this process. The pool calls them with its lock held, or in a
// goroutine that reads answers, so they must not block.
func (w *worker) slotHooks() slot.Hooks {
	return slot.Hooks{
		Worker: w.sup.o.Index, Device: w.sup.o.Device,
		Threads: w.setup.model.Threads(), Isolate: w.setup.model.Isolate,
		Packs:       w.setup.model.Threads() && !w.setup.model.NoGIL,
		Streamed:    w.setup.model.Streamed,
		MaxRequests: w.sup.o.Policy.MaxRequests,
		MaxRequestsReached: func() {
			w.sup.Renew(fmt.Sprintf("it has answered %d predictions", w.sup.o.Policy.MaxRequests))
		},
		IsFatal: w.sup.o.Fleet.gpu.fatal,
		FatalAnswer: func(body []byte) {
			w.requestRetirement(retirement{why: lostGPU + errorOf(body), fault: CauseGPULost})
		},
	}
}
