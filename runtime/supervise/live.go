package supervise

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// lastWords is how long the control channel of a dead worker is read for what it had said. That lies
// in the socket already; only a descriptor that leaked to a grandchild can keep its end open.
const lastWords = time.Second

// liveWorker is one process while it lives. Its methods run in the supervisor's goroutine.
type liveWorker struct {
	*Supervisor
	process   *process
	alarm     <-chan time.Time // setup takes too long
	slots     []*slot.Slot     // written by the supervisor's goroutine, with its lock
	during    string
	greeted   bool  // its hello was good
	stage     State // by its own messages; Gone: nothing more is to come of it
	loaded    Loaded
	batch     *slot.Batch // nil: each prediction runs by itself
	failed    string      // setup failed, in the worker's words
	setup     []byte      // what it wrote until now
	setupCut  int         // bytes of that which were dropped
	asked     bool        // to leave, with the server
	condemned bool        // it was killed: what it says does not count any more

	status   Status        // of this process; guarded by the supervisor's lock
	heir     bool          // it is to take another's place; guarded by the supervisor's lock
	told     bool          // OnLoaded was called
	readied  chan struct{} // closed when it has its slots
	ended    chan ending   // how it ended, once
	retiring chan farewell
	farewell *farewell       // nil: it may stay
	empty    <-chan struct{} // closed when it has no calls any more; nil: it may get some

	oom        *oomWatch
	beats      int
	fat        bool   // it was found to have too much memory
	serial     uint64 // of the newest question
	unanswered int    // questions, in a row
}

// farewell is why a process is to leave while the server goes on.
type farewell struct {
	why   string
	fault bool        // it can serve no more, which counts as a death
	heir  *liveWorker // takes its place at once; nil: none
}

// change changes what is of this process.
func (l *liveWorker) change(f func(*Status)) {
	l.mu.Lock()
	f(&l.status)
	l.mu.Unlock()
	l.o.OnChange()
}

// move takes the process to a state; a move that the table does not have is a defect, and is logged.
func (l *liveWorker) move(to State) {
	l.change(func(st *Status) {
		if !st.State.canMove(to) {
			l.o.Logger.Error("illegal worker state change", "worker", l.o.Index, "from", st.State, "to", to)
		}
		st.State = to
	})
}

// run takes the worker through its life until its process has ended.
func (l *liveWorker) run() {
	control := make(chan message, 16)
	go l.listen(control)
	messages, stop, kill := control, l.stop, l.kill
	pulse := time.NewTicker(l.pulse)
	defer pulse.Stop()
	questions, noMore := l.questions()
	defer noMore()
	ending, late, urgent := l.process.ending, (<-chan time.Time)(nil), false
	var began time.Time // the end of the process
	for {
		select {
		case m, open := <-messages:
			if !open {
				messages = nil
				continue
			}
			if err := l.handle(m); err != nil {
				l.condemn(Protocol, err.Error())
			}
		case <-l.alarm:
			l.condemn(FailedSetup, fmt.Sprintf("setup did not finish within %s", l.o.SetupTimeout))
			l.failed = fmt.Sprintf("Setup timed out after %s", l.o.SetupTimeout)
			l.alarm = nil
		case <-stop:
			stop = nil
			l.leave()
		case <-kill:
			kill = nil
			l.asked = true
			l.condemn(Left, "the server is shutting down")
			late, urgent = time.After(lastPatience), true
		case <-ending:
			ending, began = nil, time.Now()
			if late == nil {
				late = time.After(l.o.KillPatience)
			}
		case <-late:
			if l.giveUp(time.Since(began), urgent) {
				return
			}
			late = time.After(lastPatience)
		case f := <-l.retiring:
			l.withdraw(f)
		case <-l.empty:
			l.empty = nil
			l.goNow()
		case <-pulse.C:
			l.beat()
		case <-questions:
			l.question()
		case <-l.process.exited:
			late := time.AfterFunc(lastWords, func() { l.process.control.Close() })
			defer late.Stop()
			for m := range control { // what it said before it ended
				if err := l.handle(m); err != nil {
					l.o.Logger.Error("worker's last words", "worker", l.o.Index, "error", err)
				}
			}
			return
		}
	}
}

// condemn ends the worker at once.
func (l *liveWorker) condemn(fault Verdict, why string) {
	l.condemned = true
	l.process.end(fault, why)
}

// listen reads the control channel until it ends; why it did is the last message.
func (l *liveWorker) listen(to chan<- message) {
	defer close(to)
	for {
		err := l.process.control.Recv(func(f *ipc.Frame) {
			if l.nobodys(f) {
				return
			}
			body, release := f.Own()
			if release != nil { // a mapped body: kept as memory of its own
				body = append([]byte(nil), body...)
				release()
			}
			to <- message{kind: f.Kind, id: f.ID, body: body}
		})
		if err != nil {
			to <- message{err: err}
			return
		}
	}
}

// nobodys takes in what the control channel has of the log: what belongs to no prediction comes here, for a slot's channel
// is read while there is a prediction. It tells whether f was that.
func (l *liveWorker) nobodys(f *ipc.Frame) bool {
	switch f.Kind {
	case ipc.KindLogPipe:
		l.process.addPipe(f.Descriptor(), f.Nanos != 0, true)
	case ipc.KindLog:
		var text struct{ Source, Data string }
		if json.Unmarshal(f.Body, &text) != nil {
			return false // handle says that it cannot be
		}
		l.process.Logged(text.Source, "", []byte(text.Data))
	default:
		return false
	}
	return true
}

// leave asks the worker to go once it has nothing to do any more; the pool has let it drain.
func (l *liveWorker) leave() {
	l.asked = true
	if l.farewell == nil {
		l.move(Draining)
	}
	if l.slots == nil { // it serves nothing yet, and may be deep in its setup
		l.condemn(Left, "the server is shutting down")
		return
	}
	l.goNow()
}

// withdraw lets the process finish what it has begun, and then go, while the server goes on.
func (l *liveWorker) withdraw(f farewell) {
	if f.heir != nil {
		defer l.succeed(f.heir) // only now: the pool gives this one nothing more
	}
	if l.farewell != nil || l.asked || l.condemned {
		return
	}
	l.farewell = &f
	if l.slots == nil {
		l.condemn(Left, f.why)
		return
	}
	if f.heir == nil { // else it is its heir's state that is shown
		l.move(Draining)
	}
	l.empty = l.o.Pool.Retire(l.slots)
}

// goNow asks a worker that has nothing outstanding to leave.
func (l *liveWorker) goNow() {
	_ = l.process.control.Send(ipc.KindShutdown, 0, []byte("{}")) // fails only if it has left
	l.endSoon()
}

// bury judges the exit, settles what the worker had, and closes everything.
func (l *liveWorker) bury() ending {
	p := l.process
	l.checks.close(l.process.control)
	if p.exit.Signal == syscall.SIGKILL && p.exit.Killed == "" {
		p.exit.Shortage, p.exit.Limit = l.oom.verdict(), l.oom.limit
	}
	cause := p.exit.Cause(l.during)
	if l.failed != "" {
		cause = l.failed
	}
	// Before Detach answers: who asks again at once is to find it gone, and to be told why.
	if l.during == duringPredict && !l.busy() {
		l.gone(p.exit.Cause(duringIdle))
	} else {
		l.gone(cause)
	}
	var rest []byte
	logs := func() []byte { rest = p.logs.TakeAll(); return rest }
	had := l.o.Pool.Detach(l.slots, slot.Autopsy{Cause: cause, Logs: logs})
	if had == 0 && l.during == duringPredict { // its last answers lay in its sockets
		cause = p.exit.Cause(duringIdle)
		l.gone(cause)
	}
	served := false
	for _, s := range l.slots {
		served = served || s.Served()
	}
	p.logs.Close()
	p.control.Close()
	p.page.Close()
	beforeReady := l.during != duringPredict
	if beforeReady {
		l.change(func(st *Status) {
			if st.Setup.Failed {
				return // it has said so itself
			}
			st.Setup.Failed, st.Setup.Completed = true, time.Now()
			l.addSetupLogs(rest)
			st.Setup.Logs = l.setupLogs() + cause + "\n"
		})
	}
	retired := l.farewell != nil && !l.farewell.fault
	switch {
	case l.asked:
	case l.farewell != nil:
		cause = l.farewell.why
		l.o.Logger.Info("worker has left", "worker", l.o.Index, "pid", p.pid, "reason", cause)
	case beforeReady && l.quiet():
	default:
		l.o.Logger.Error("worker ended", "worker", l.o.Index, "pid", p.pid, "cause", cause)
	}
	if l.o.OnExit != nil {
		l.o.OnExit(l.verdict())
	}
	return ending{
		cause: cause, stopped: l.asked, retired: retired, served: served, setup: beforeReady, worked: !beforeReady,
	}
}

// busy tells whether the model had a prediction when the process ended.
func (l *liveWorker) busy() bool {
	return slices.ContainsFunc(l.slots, func(s *slot.Slot) bool { return s.Running() != "" })
}

// gone says that the process has ended, and how where it was not asked to.
func (l *liveWorker) gone(cause string) {
	l.change(func(st *Status) { st.State, st.PID = Gone, 0 })
	switch {
	case l.asked || l.farewell != nil && !l.farewell.fault:
		return
	case l.farewell != nil:
		cause = l.farewell.why
	}
	l.Supervisor.change(func(st *Status) { st.LastExit = cause })
}
