package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// What the worker says on its control channel. Most of it is said once, and so decoded by encoding/json: sonic first
// makes machine code for each type, which takes it a thousand times as long as the message is worth.

// expects tells whether a message of this kind may come now.
func (l *liveWorker) expects(kind ipc.Kind) bool {
	switch kind {
	case ipc.KindHello:
		return !l.greeted
	case ipc.KindLoaded:
		return l.greeted && l.stage == Starting
	case ipc.KindReady:
		return l.stage == Setup
	case ipc.KindSetupFailed:
		return l.greeted && (l.stage == Starting || l.stage == Setup)
	default:
		return true
	}
}

// handle acts on one message. An error ends the worker.
func (l *liveWorker) handle(m message) error {
	switch {
	case l.condemned:
		return nil
	case errors.Is(m.err, ipc.ErrClosed):
		l.process.Closed()
		return nil
	case m.err != nil:
		return m.err
	case !l.expects(m.kind):
		return fmt.Errorf("%w: a control frame of kind %d, out of turn", ipc.ErrProtocol, m.kind)
	}
	switch m.kind {
	case ipc.KindHello:
		return l.hello(m.body)
	case ipc.KindLoaded:
		return l.load(m.body)
	case ipc.KindLogMark:
		return l.logMark(m.body)
	case ipc.KindReady:
		return l.ready(m.body)
	case ipc.KindCUDA:
		return l.cuda(m.body)
	case ipc.KindPong:
		l.unanswered = 0
		return nil
	case ipc.KindSetupFailed:
		return l.setupFailed(m.body)
	case ipc.KindHealthy:
		return l.checks.answered(m.id, m.body)
	default:
		return fmt.Errorf("%w: a control frame of kind %d", ipc.ErrProtocol, m.kind)
	}
}

func (l *liveWorker) hello(body []byte) error {
	var hello struct {
		Protocol           int
		Python, Executable string
	}
	if err := json.Unmarshal(body, &hello); err != nil {
		return fmt.Errorf("decode hello: %w", err)
	}
	if hello.Protocol != 1 {
		return fmt.Errorf("%w: protocol %d of another version", ipc.ErrProtocol, hello.Protocol)
	}
	l.greeted = true
	l.loaded.Python = hello.Python
	l.change(func(st *Status) { st.Python = hello.Python })
	l.o.Logger.Debug("worker runs Python", "worker", l.o.Index, "python", hello.Python, "executable", hello.Executable)
	return nil
}

// load takes in what the worker says of its model, which it goes on to set up.
func (l *liveWorker) load(body []byte) error {
	if err := json.Unmarshal(body, &l.loaded); err != nil {
		return fmt.Errorf("decode loaded: %w", err)
	}
	if l.loaded.Slots < 1 || l.loaded.Slots > ipc.MaxSlots {
		return fmt.Errorf("a concurrency of %d is out of bounds: 1 to %d", l.loaded.Slots, ipc.MaxSlots)
	}
	if l.loaded.Batch != nil {
		b, err := l.loaded.Batch.with(l.o.Batch)
		if err != nil {
			return err
		}
		l.batch = b
	}
	l.mu.Lock()
	heir := l.heir
	l.mu.Unlock()
	if !heir { // else the old worker still serves the old model
		l.tell()
	}
	l.stage, l.during = Setup, duringSetup
	if !l.asked {
		l.move(Setup)
	}
	return nil
}

// tell says what the model is, once.
func (l *liveWorker) tell() {
	if !l.told {
		l.told = true
		l.o.OnLoaded(l.loaded)
	}
}

func (l *liveWorker) ready(body []byte) error {
	var ready struct {
		Seconds        float64
		Stdout, Stderr uint64
	}
	if err := json.Unmarshal(body, &ready); err != nil {
		return fmt.Errorf("decode ready: %w", err)
	}
	l.alarm = nil
	l.stage = Ready
	l.takeSetupLogs(ready.Stdout, ready.Stderr)
	l.change(func(st *Status) {
		st.Setup.Completed, st.Setup.Logs = time.Now(), l.setupLogs()
	})
	if l.asked {
		return nil
	}
	conns, err := l.passSlots()
	if err != nil {
		return err
	}
	l.tell()
	slots := l.o.Pool.Attach(l.process, conns, l.process.page, l.alarms(), l.batch)
	l.mu.Lock()
	l.slots = slots
	l.mu.Unlock()
	if len(l.slots) == 1 {
		running := l.slots[0].Running
		l.process.running.Store(&running)
	}
	l.during = duringPredict
	if l.loaded.Healthcheck {
		l.checks.open(l.process.control)
	}
	l.move(Ready)
	l.o.Fleet.prove()
	close(l.readied)
	l.o.Logger.Info("worker ready", "worker", l.o.Index, "pid", l.process.pid, "python", l.loaded.Python,
		"slots", l.loaded.Slots, "setup_seconds", ready.Seconds)
	return nil
}

// logMark takes what was written up to here during setup: the marks keep the two streams in order.
func (l *liveWorker) logMark(body []byte) error {
	var at struct{ Stdout, Stderr uint64 }
	if err := json.Unmarshal(body, &at); err != nil {
		return fmt.Errorf("decode log mark: %w", err)
	}
	if l.stage == Starting || l.stage == Setup {
		l.takeSetupLogs(at.Stdout, at.Stderr)
	}
	return nil
}

// takeSetupLogs claims what was written up to these positions for the setup.
func (l *liveWorker) takeSetupLogs(stdout, stderr uint64) {
	l.addSetupLogs(joined(l.process.TakeLogs("", slot.LogPositions{Stdout: stdout, Stderr: stderr})))
}

func (l *liveWorker) addSetupLogs(text []byte) {
	room := min(len(text), logLimit-len(l.setup))
	l.setup = append(l.setup, text[:room]...)
	l.setupCut += len(text) - room
}

// setupLogs is what the worker wrote until its setup ended, as JSON can hold it.
func (l *liveWorker) setupLogs() string {
	logs := strings.ToValidUTF8(string(l.setup), "\uFFFD")
	if l.setupCut > 0 {
		logs += fmt.Sprintf(cutNotice, l.setupCut, logLimit>>20)
	}
	return logs
}

// cuda takes in what became of CUDA's start in the worker.
func (l *liveWorker) cuda(body []byte) error {
	var report map[string]any
	if err := json.Unmarshal(body, &report); err != nil {
		return fmt.Errorf("decode CUDA report: %w", err)
	}
	l.change(func(st *Status) { st.CUDA = report })
	level := slog.LevelWarn
	hint, _ := report["hint"].(string)
	switch state, _ := report["state"].(string); state {
	case "off":
		level = slog.LevelDebug
	case "absent":
		if hint == "" { // no GPU and no driver: most machines
			level = slog.LevelDebug
		}
	case "ready", "no_device":
		level = slog.LevelInfo
	}
	l.o.Logger.Log(context.Background(), level, "CUDA", "worker", l.o.Index, "report", report)
	return nil
}

// passSlots makes the slots' socketpairs and sends the worker its ends.
func (l *liveWorker) passSlots() ([]*ipc.Conn, error) {
	conns := make([]*ipc.Conn, 0, l.loaded.Slots)
	for i := range l.loaded.Slots {
		conn, theirs, err := ipc.Pair(fmt.Sprintf("slot %d", i))
		if err == nil {
			conns = append(conns, conn)
			err = l.passSlot(i, theirs)
		}
		if err != nil {
			for _, c := range conns {
				c.Close()
			}
			return nil, fmt.Errorf("pass slot %d to the worker: %w", i, err)
		}
	}
	return conns, nil
}

func (l *liveWorker) passSlot(i int, theirs *os.File) error {
	defer theirs.Close()
	fd, err := dup(theirs)
	if err != nil {
		return err
	}
	return l.process.control.SendFile(ipc.KindSlot, uint64(i), fd)
}

func (l *liveWorker) setupFailed(body []byte) error {
	var failed struct {
		Error          string
		Stdout, Stderr uint64
		Problem        *Problem
	}
	if err := json.Unmarshal(body, &failed); err != nil {
		return fmt.Errorf("decode setup failure: %w", err)
	}
	l.alarm = nil
	l.stage = Gone
	l.takeSetupLogs(failed.Stdout, failed.Stderr)
	l.failed = failed.Error
	if failed.Problem != nil {
		l.addSetupLogs([]byte(failed.Problem.text() + "\n"))
	}
	l.change(func(st *Status) {
		st.Setup.Completed, st.Setup.Failed, st.Setup.Logs, st.Setup.Problem = time.Now(), true, l.setupLogs(), failed.Problem
	})
	if !l.quiet() {
		if failed.Problem != nil {
			l.note(stderr, "", []byte(failed.Problem.text()))
		}
		l.o.Logger.Error("setup failed", "worker", l.o.Index, "error", failed.Error)
	}
	l.endSoon() // threads that the model started may keep it
	return nil
}

// endSoon ends a worker that is leaving and does not get on with it.
func (l *liveWorker) endSoon() {
	time.AfterFunc(l.o.StopPatience, func() { l.process.end(Left, "it did not leave when it should have") })
}
