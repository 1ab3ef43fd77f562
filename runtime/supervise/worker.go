package supervise

import (
	"slices"
	"syscall"
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// lastRead is how long the control channel of an exited worker is read. What it sent is in the socket already; only a
// descriptor that leaked to a grandchild can keep its other end open.
const lastRead = time.Second

// worker is one worker process while it lives. Its methods run in one goroutine, unless they say otherwise.
type worker struct {
	sup      *Supervisor
	process  *process
	group    *rankGroup    // nil for a worker of one process
	over     chan struct{} // closed when all ranks of the group have ended
	setup    setup
	memory   memoryWatch
	pings    pings
	refusals uint64 // of threads and processes, by the kernel before it was started
	activity string // what the worker does, for Exit.Describe

	stopping   bool            // it was asked to leave, with the server
	settled    bool            // the number of ranks is not the model's to say
	regrouped  bool            // its model wants another number of ranks
	terminated bool            // it was killed, and its messages are ignored
	readyAt    time.Time       // zero if it was never ready
	retirement *retirement     // why it must leave; nil if it may stay
	drained    <-chan struct{} // closed when it has no calls any more; nil if it may get some

	// Guarded by the supervisor's lock.
	status    ProcessStatus
	slots     []*slot.Slot // nil until it is ready
	successor bool         // it will take over from another

	readied  latch           // closed when it has its slots
	retiring chan retirement // requests to leave
	ended    chan outcome    // gets one value
}

// retirement is why a process must leave while the server keeps running.
type retirement struct {
	why       string
	fault     ExitCause // why it cannot serve any more, which counts as a death; "" if it can
	successor *worker   // takes over at once, or nil
}

type outcome struct {
	cause   string
	stopped bool // it was asked to end, with the server
	retired bool // it was asked to leave for another
	served  bool // it had a success
	worked  bool // it was ready
	lasted  bool // it was ready for longer than deathWindow
	// unstarted means that this server could not start it, and tries again.
	unstarted bool
	// again means that another must be started at once, with another number of ranks or another port.
	again bool
}

func newWorker(s *Supervisor, successor bool) *worker {
	w := &worker{
		sup: s, activity: duringStart, successor: successor, memory: memoryWatch{oom: newOOMWatch(s.o.Fleet.memory)},
		refusals: s.o.Fleet.pids.refusals(),
		readied:  newLatch(), retiring: make(chan retirement, 2), ended: make(chan outcome, 1), over: make(chan struct{}),
	}
	w.status.Setup.Started = time.Now()
	return w
}

// run handles the events of the worker until its process has ended, or is given up.
func (w *worker) run() {
	control := make(chan message, 16)
	go w.listen(w.process, control)
	messages, stop, kill := control, w.sup.stop.closed, w.sup.kill.closed
	memory := time.NewTicker(w.sup.memoryInterval)
	defer memory.Stop()
	pings, stopPings := w.pingTimes()
	defer stopPings()
	ending, late, urgent := w.process.ending.closed, (<-chan time.Time)(nil), false
	var began time.Time // the end of the process
	for {
		select {
		case m, open := <-messages:
			if !open {
				messages = nil
				continue
			}
			if err := w.handle(m); err != nil {
				w.process.shortage.Store(IsShortage(err))
				w.terminate(CauseProtocol, err.Error())
			}
		case m := <-w.group.heard():
			w.handleRank(m)
		case <-w.setup.late:
			w.setupTimedOut()
		case <-w.setup.from:
			w.beginSetupTime()
		case <-stop:
			stop = nil
			w.leave()
		case <-kill:
			kill = nil
			w.stopping = true
			w.terminate(CauseLeft, "the server is shutting down")
			late, urgent = time.After(lastTimeout), true
		case <-ending:
			ending, began = nil, time.Now()
			if late == nil {
				late = time.After(w.sup.o.Timeouts.Kill)
			}
		case <-late:
			if w.giveUp(time.Since(began), urgent) {
				return
			}
			late = time.After(lastTimeout)
		case r := <-w.retiring:
			w.retire(r)
		case <-w.drained:
			w.drained = nil
			w.shutdown()
		case why := <-w.process.stuck:
			w.replaceStuck(why)
		case <-memory.C:
			w.checkMemory()
		case <-pings:
			w.ping()
		case <-w.process.child.exited:
			w.handleLast(control)
			return
		}
	}
}

// handleLast handles what the worker sent before its process ended.
func (w *worker) handleLast(control <-chan message) {
	late := time.AfterFunc(lastRead, func() { w.process.control.Close() })
	defer late.Stop()
	for m := range control {
		if err := w.handle(m); err != nil {
			w.sup.o.Logger.Error("the last messages of a worker cannot be used", "worker", w.sup.o.Index, "error", err)
		}
	}
}

func (w *worker) terminate(cause ExitCause, why string) {
	w.terminated = true
	if w.group != nil {
		for _, p := range w.group.all() {
			p.terminate(cause, why)
		}
		return
	}
	w.process.terminate(cause, why)
}

// message is a frame of the control channel, or the error that ended it.
type message struct {
	kind ipc.Kind
	id   uint64
	body []byte
	err  error
}

// listen reads the control channel until it ends; the reason is the last message.
func (w *worker) listen(p *process, to chan<- message) {
	defer close(to)
	for {
		err := p.control.Recv(func(f *ipc.Frame) {
			if p.takeUnattributed(f) {
				return
			}
			body, release := f.Own()
			if release != nil { // a mapped body: copied
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

// takeUnattributed handles a frame of output that belongs to no prediction, and reports whether f was one. Such frames
// use the control channel because slots are read only while there is a prediction.
func (p *process) takeUnattributed(f *ipc.Frame) bool {
	switch f.Kind {
	case ipc.KindLogPipe:
		p.addPipe(f.Descriptor(), f.Nanos != 0, true)
	case ipc.KindLog:
		text, err := ipc.ParseLog(f.Body)
		if err != nil {
			return false // handle refuses it
		}
		p.Logged("", text)
	case ipc.KindLogRecord:
		return p.LogRecord(f) == nil
	default:
		return false
	}
	return true
}

// leave asks the worker to end once it has no predictions; the pool drains.
func (w *worker) leave() {
	w.stopping = true
	if w.retirement == nil {
		w.move(Draining, nil)
	}
	if w.slots == nil { // it serves nothing yet; it may be in its setup
		w.terminate(CauseLeft, "the server is shutting down")
		return
	}
	w.shutdown()
}

// requestRetirement asks the process to finish its calls and to leave. Any goroutine may call it; it does not block.
func (w *worker) requestRetirement(r retirement) {
	select {
	case w.retiring <- r:
	default: // enough requests wait already
	}
}

// retire lets the process finish what it has begun, and then leave, while the server keeps running.
func (w *worker) retire(r retirement) {
	if r.successor != nil {
		defer w.sup.promote(r.successor) // last, when the pool gives this process no more calls
	}
	if w.retirement != nil || w.stopping || w.terminated {
		return
	}
	w.retirement = &r
	if w.slots == nil {
		w.terminate(CauseLeft, r.why)
		return
	}
	if r.successor == nil { // otherwise the successor's state is shown
		w.move(Draining, nil)
	}
	w.drained = w.sup.o.Pool.Retire(w.slots)
}

// shutdown asks a worker that has no predictions to end.
func (w *worker) shutdown() {
	_ = w.process.control.SendShutdown() // fails only if it has ended
	if g := w.group; g != nil {
		g.leaving = true
		for _, r := range g.others {
			_ = r.process.control.SendShutdown()
		}
	}
	w.terminateLater()
}

// terminateLater kills the worker if it has not ended by itself in time.
func (w *worker) terminateLater() {
	time.AfterFunc(w.sup.o.Timeouts.Stop,
		func() {
			const why = "it did not exit when it was told to"
			if w.group != nil {
				for _, r := range w.group.others {
					r.process.terminate(CauseLeft, why)
				}
			}
			w.process.terminate(CauseLeft, why)
		})
}

// finish classifies the exit, and settles the worker's calls.
func (w *worker) finish() outcome {
	p := w.process
	w.group.endOthers()
	exit := w.exit()
	w.sup.checks.close(p.control)
	if exit.Signal == syscall.SIGKILL && exit.Killed == "" {
		exit.Shortage, exit.Limit = w.memory.oom.killed(), w.memory.oom.limit
	}
	var rest []byte
	if !w.setup.hello && exit.Killed == "" {
		rest = p.logs.TakeAll()
		exit.Lacked = lackOf(string(rest))
	}
	cause := w.describe(w.activity)
	if w.setup.failure != "" {
		cause = w.setup.failure
	}
	worked := w.activity == duringPredict
	again := !worked && !w.stopping && w.startsDifferently()
	unstarted := (p.shortage.Load() || exit.Lacked != "") && w.sup.o.Policy.Restart != Never
	if !unstarted && w.isRefused() {
		unstarted = true
		cause += refusedThreads
	}
	// This precedes Detach, which answers its calls: a client that asks at once must see that the worker has exited, and
	// why.
	if worked && !w.busy() {
		w.exited(w.describe(duringIdle))
	} else {
		w.exited(cause)
	}
	logs := func() []byte { rest = append(append(rest, p.logs.TakeAll()...), w.group.lastLogs()...); return rest }
	had := w.sup.o.Pool.Detach(w.slots, w.exitForCalls(cause, logs))
	if had == 0 && worked { // its last answers were in its sockets
		cause = w.describe(duringIdle)
		w.setLastExit(cause)
	}
	switch {
	case worked, again:
	case unstarted:
		w.process.logs.AddSetup(append(rest, cause+"\n"...))
	default:
		w.failSetup(cause, rest)
	}
	switch {
	case w.stopping:
	case w.retirement != nil:
		cause = w.retirement.why
		w.sup.o.Logger.Info("worker has left", "worker", w.sup.o.Index, "pid", p.child.pid, "reason", cause)
	case again:
	case !worked && w.sup.hidesSetupFailure():
	default:
		w.sup.o.Logger.Error("worker ended", "worker", w.sup.o.Index, "pid", p.child.pid, "cause", cause)
	}
	w.sup.o.Hooks.OnExit(w.exitCause())
	return outcome{
		cause: cause, stopped: w.stopping, worked: worked,
		retired:   w.retirement != nil && w.retirement.fault == "",
		served:    slices.ContainsFunc(w.slots, (*slot.Slot).Served),
		lasted:    worked && time.Since(w.readyAt) > deathWindow,
		unstarted: unstarted, again: again,
	}
}

// clear waits until the worker's descendants have ended, and closes its channels.
func (w *worker) clear() {
	if w.group != nil {
		for _, r := range w.group.others {
			w.clearProcess(r.process)
		}
	}
	w.clearProcess(w.process)
}

func (w *worker) clearProcess(p *process) {
	kill, cleared := w.sup.kill.closed, p.child.cleared
	if p.givenUp() {
		cleared = nil
	}
	for cleared != nil {
		select {
		case <-cleared:
			cleared = nil
		case <-kill:
			kill = nil
			p.child.urgent.Store(true)
		}
	}
	p.logs.Close()
	p.control.Close()
	p.page.Close()
}

// busy reports whether the model had a prediction when the process ended.
func (w *worker) busy() bool {
	return slices.ContainsFunc(w.slots, func(s *slot.Slot) bool { return s.Running() != "" })
}

// exited updates the status: the process has ended, and how if it was not asked to.
func (w *worker) exited(cause string) {
	w.move(Exited, func(st *ProcessStatus) { st.PID = 0 })
	w.setLastExit(cause)
}

// setLastExit records how the process ended, unless it was asked to.
func (w *worker) setLastExit(cause string) {
	switch {
	case w.stopping || w.regrouped || w.retirement != nil && w.retirement.fault == "":
		return
	case w.retirement != nil:
		cause = w.retirement.why
	}
	w.sup.change(func(st *Status) { st.LastExit, st.ExitedAt = cause, time.Now() })
}
