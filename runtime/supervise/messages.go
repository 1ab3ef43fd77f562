package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

func (w *worker) expects(kind ipc.Kind) bool {
	switch kind {
	case ipc.KindHello:
		return !w.setup.hello
	case ipc.KindLoaded:
		return w.setup.hello && w.setup.stage == Starting
	case ipc.KindReady:
		return w.setup.stage == Setup
	case ipc.KindSetupFailed:
		return w.setup.hello && (w.setup.stage == Starting || w.setup.stage == Setup)
	default:
		return true
	}
}

// handle handles one message of the control channel. An error ends the worker.
func (w *worker) handle(m message) error {
	switch {
	case w.terminated:
		return nil
	case errors.Is(m.err, ipc.ErrClosed):
		w.process.Closed()
		return nil
	case m.err != nil:
		return m.err
	case !w.expects(m.kind):
		return fmt.Errorf("%w: a control frame of kind %s, out of turn", ipc.ErrProtocol, m.kind)
	}
	switch m.kind {
	case ipc.KindHello:
		return w.hello(m.body)
	case ipc.KindLoaded:
		return w.load(m.body)
	case ipc.KindLogMark:
		return w.logMark(m.body)
	case ipc.KindReady:
		return w.ready(m.body)
	case ipc.KindCUDA:
		return w.cuda(m.body)
	case ipc.KindPong:
		w.pings.unanswered = 0
		return nil
	case ipc.KindMethodBatches:
		return w.methodBatches(m.body)
	case ipc.KindSetupFailed:
		return w.setupFailed(m.body)
	case ipc.KindStack, ipc.KindStacks:
		return w.process.stacks.take(m)
	case ipc.KindHealthy:
		return w.sup.checks.answered(m.id, m.body)
	default:
		return fmt.Errorf("%w: a control frame of kind %s", ipc.ErrProtocol, m.kind)
	}
}

func (w *worker) hello(body []byte) error {
	hello, err := ipc.ParseHello(body)
	if err != nil {
		return err
	}
	w.setup.hello = true
	w.setup.model.Python = hello.Python
	w.change(func(st *ProcessStatus) { st.Python = hello.Python })
	w.sup.o.Logger.Debug("worker runs Python", "worker", w.sup.o.Index, "python", hello.Python, "executable",
		hello.Executable)
	return nil
}

// load handles the Loaded frame: it records the imported model, and begins the setup.
func (w *worker) load(body []byte) error {
	loaded, err := ipc.ParseLoaded(body)
	if err != nil {
		return err
	}
	if want := max(1, loaded.Ranks); !w.settled && want != w.size() {
		return w.regroup(want)
	}
	loaded.Python = w.setup.model.Python
	w.setup.model = loaded
	w.process.threads.Store(loaded.Threads())
	if w.setup.batch, err = batchesOf(&loaded, w.sup.o.Batch); err != nil {
		return err
	}
	w.sup.mu.Lock()
	successor := w.successor
	w.sup.mu.Unlock()
	if !successor { // otherwise the old worker still serves the old model
		w.announce()
	}
	w.setup.stage, w.activity = Setup, duringSetup
	if !w.stopping {
		w.move(Setup, nil)
	}
	return nil
}

func (w *worker) announce() {
	if !w.setup.announced {
		w.setup.announced = true
		w.sup.o.Hooks.OnLoaded(w.setup.model)
	}
}

// ready gives the worker its slots: it takes predictions from now on.
func (w *worker) ready(body []byte) error {
	ready, err := ipc.ParseReady(body)
	if err != nil {
		return err
	}
	if g := w.group; g != nil {
		if g.ready = body; g.awaits() != "" {
			return nil
		}
	}
	w.setup.late = nil
	w.setup.stage = Ready
	w.process.TakeSetupLogs(ready.LogMark)
	text := w.process.logs.SetupText(false)
	w.change(func(st *ProcessStatus) {
		st.Setup.Completed, st.Setup.Logs = time.Now(), text
	})
	w.setupEnded()
	if w.stopping {
		return nil
	}
	var process slot.Worker = w.process
	pass, words := w.passSlots, w.process.page.Slot
	if w.group != nil {
		process, pass = w.group, w.serveGroup
		words = func(int) ipc.Slot { return w.process.page.Slot(groupSlot) }
	}
	conns, err := pass()
	if err != nil {
		return err
	}
	w.announce()
	slots := w.sup.o.Pool.Attach(process, conns, words, w.slotHooks(), w.setup.batch)
	w.sup.mu.Lock()
	w.slots = slots
	w.sup.mu.Unlock()
	if len(w.slots) == 1 {
		running := w.slots[0].Running
		w.process.running.Store(&running)
		if w.group != nil {
			for _, r := range w.group.others {
				r.process.running.Store(&running)
			}
		}
	}
	w.activity, w.readyAt = duringPredict, time.Now()
	if w.setup.model.Healthcheck {
		w.sup.checks.open(w.process.control)
	}
	w.sup.started()
	w.move(Ready, nil)
	w.sup.o.Fleet.provenBy.close()
	w.sup.o.Fleet.breaker.ready(w.sup)
	w.readied.close()
	w.sup.o.Logger.Info("worker ready", "worker", w.sup.o.Index, "pid", w.process.child.pid, "python",
		w.setup.model.Python,
		"slots", w.setup.model.Slots, "setup_seconds", threeDigits(ready.Seconds))
	if w.setup.model.Threads() {
		w.sup.o.Logger.Info("predictions run on threads over one copy of the model, so its code must be safe for threads: "+
			"no change of self or of globals without a lock", "worker", w.sup.o.Index, "threads", w.setup.model.Slots)
	}
	return nil
}

// logMark claims what the setup has written until now. Marks keep the two streams in order.
func (w *worker) logMark(body []byte) error {
	at, err := ipc.ParseLogMark(body)
	if err != nil {
		return err
	}
	if w.setup.stage == Starting || w.setup.stage == Setup {
		w.process.TakeSetupLogs(at)
	}
	return nil
}

// cuda handles the report about CUDA's start in the worker.
func (w *worker) cuda(body []byte) error {
	report, err := ipc.ParseCUDA(body)
	if err != nil {
		return err
	}
	w.change(func(st *ProcessStatus) { st.CUDA = report })
	level := slog.LevelWarn
	fix, _ := report["fix"].(string)
	switch state, _ := report["state"].(string); state {
	case "off":
		level = slog.LevelDebug
	case "absent":
		if fix == "" { // no GPU and no driver: most machines
			level = slog.LevelDebug
		}
	case "ready", "no_device":
		level = slog.LevelInfo
	}
	w.sup.o.Logger.Log(context.Background(), level, "CUDA", "worker", w.sup.o.Index, "report", report)
	return nil
}

func (w *worker) methodBatches(body []byte) error {
	batches, err := ipc.ParseMethodBatches(body)
	if err == nil {
		w.sup.o.Hooks.OnMethodBatches(batches)
	}
	return err
}

// passSlots makes the slots' socketpairs and sends the worker its ends. Slots that share one have the same connection.
func (w *worker) passSlots() ([]*ipc.Conn, error) {
	if w.setup.model.OneSocket() {
		conn, err := w.process.passSlot(0, 1)
		return slices.Repeat([]*ipc.Conn{conn}, w.setup.model.Slots), err
	}
	conns := make([]*ipc.Conn, 0, w.setup.model.Slots)
	for i := range w.setup.model.Slots {
		conn, err := w.process.passSlot(i, w.setup.model.Slots)
		if err == nil {
			conns = append(conns, conn)
		} else {
			for _, c := range conns {
				c.Close()
			}
			return nil, err
		}
	}
	return conns, nil
}

// passSlot makes the socketpair of a slot, of that many, and sends the worker its end.
func (p *process) passSlot(i, of int) (*ipc.Conn, error) {
	conn, theirs, err := ipc.Pair(fmt.Sprintf("slot %d", i), of)
	if err == nil {
		defer theirs.Close()
		var fd int
		if fd, err = dup(theirs); err == nil {
			err = p.control.SendFile(ipc.KindSlot, uint64(i), fd)
		}
		if err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pass slot %d to the worker: %w", i, err)
	}
	return conn, nil
}

// threeDigits rounds a time for people to three digits, at most to nanoseconds.
func threeDigits(seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	unit := math.Pow(10, min(0, max(-9, math.Floor(math.Log10(seconds))-2)))
	return math.Round(seconds/unit) / math.Round(1/unit)
}
