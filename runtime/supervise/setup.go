package supervise

import (
	"fmt"
	"log/slog"
	"time"

	"pinion/ipc"
	"pinion/runtime/slot"
)

type setup struct {
	late      <-chan time.Time // fires when it takes too long
	from      <-chan struct{}  // closed when its time begins; nil means it has begun, or is not limited
	stage     State            // by the worker's messages; Exited if its setup has failed
	hello     bool             // received
	model     ipc.Loaded
	batch     *slot.BatchOptions // nil if the model is not batched
	announced bool               // OnLoaded was called
	failure   string             // why it failed, in the worker's words
	problem   *ipc.Problem       // the same as 'pinion check' says it; of a group
}

// addSetupLogs adds what a running setup has written until now.
func (s *Supervisor) addSetupLogs(st *SetupStatus) {
	s.mu.Lock()
	w := s.current
	runs := w != nil && w.status.PID != 0 && w.status.Setup.Completed.IsZero()
	s.mu.Unlock()
	if runs {
		st.Logs = w.process.logs.SetupText(true)
	}
}

// limitSetup begins the time that a setup may take, or waits for its begin.
func (w *worker) limitSetup() {
	if from := w.sup.o.Timeouts.SetupFrom; from != nil && w.sup.o.Timeouts.Setup > 0 {
		w.setup.from = from()
	}
	if w.setup.from == nil {
		w.beginSetupTime()
	}
}

func (w *worker) beginSetupTime() {
	w.setup.from = nil
	if limit := w.sup.o.Timeouts.Setup; limit > 0 && (w.setup.stage == Starting || w.setup.stage == Setup) {
		w.setup.late = time.After(limit)
	}
}

func (w *worker) setupTimedOut() {
	w.terminate(CauseSetupFailed, fmt.Sprintf("setup did not finish within %s", w.sup.o.Timeouts.Setup))
	w.setup.failure = fmt.Sprintf("Setup timed out after %s", w.sup.o.Timeouts.Setup)
	if w.group != nil {
		w.setup.failure += ": not ready were " + w.group.awaits()
	}
	w.setup.late = nil
}

func (w *worker) setupFailed(body []byte) error {
	failed, err := ipc.ParseSetupFailed(body)
	if err != nil {
		return err
	}
	if w.group != nil {
		w.rankSetupFailed(0, w.process, failed)
		return nil
	}
	w.setup.late = nil
	w.setup.stage = Exited
	w.process.TakeSetupLogs(failed.LogMark)
	w.setup.failure = failed.Error
	if failed.Problem != nil {
		w.process.logs.AddSetup([]byte(failed.Problem.Text() + "\n"))
	}
	text := w.process.logs.SetupText(false)
	w.terminateLater() // threads that the model started may keep the process alive
	if w.isRefused() {
		w.change(func(st *ProcessStatus) { st.Setup.Logs = text })
		return nil
	}
	w.change(func(st *ProcessStatus) {
		st.Setup.Completed, st.Setup.Failed, st.Setup.Logs, st.Setup.Problem = time.Now(), true, text, failed.Problem
	})
	w.setupEnded()
	if !w.sup.hidesSetupFailure() {
		about := []any{"worker", w.sup.o.Index, "error", failed.Error}
		if p := failed.Problem; p != nil {
			w.sup.note(slog.LevelInfo, stderr, "", []byte(p.Text()))
			if p.Traceback != "" && p.Fix != "" { // otherwise the error has it
				about = append(about, "fix", p.Fix)
			}
		}
		w.sup.o.Logger.Error("setup failed", about...)
	}
	return nil
}

// failSetup marks the setup of a process that ended before it was ready as failed; rest is what else it wrote.
func (w *worker) failSetup(cause string, rest []byte) {
	w.process.logs.AddSetup(rest)
	text := w.process.logs.SetupText(false)
	said := false // by the worker itself
	w.change(func(st *ProcessStatus) {
		if said = st.Setup.Failed; said {
			return
		}
		st.Setup.Failed, st.Setup.Completed, st.Setup.Logs = true, time.Now(), text+cause+"\n"
		st.Setup.Problem = w.setup.problem
	})
	if !said {
		w.setupEnded()
	}
}

func (w *worker) setupEnded() {
	w.sup.mu.Lock()
	status := w.status.Setup
	w.sup.mu.Unlock()
	w.sup.o.Hooks.OnSetup(status)
}
