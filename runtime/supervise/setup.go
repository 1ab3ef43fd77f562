package supervise

import (
	"fmt"
	"strings"
	"time"

	"pinion/ipc"
	"pinion/runtime/logtext"
	"pinion/runtime/slot"
)

type setup struct {
	late      <-chan time.Time // fires when it takes too long
	stage     State            // by the worker's messages; Exited: its setup has failed
	hello     bool             // it has come
	model     ipc.Loaded
	batch     *slot.BatchOptions // nil: the model is not batched
	announced bool               // OnLoaded was called
	failure   string             // why it failed, in the worker's words
	logs      logtext.Text       // what it wrote until now
}

// takeSetupLogs claims what was written up to these positions for the setup.
func (w *worker) takeSetupLogs(at ipc.LogMark) {
	w.setup.logs.Add(joined(w.process.TakeLogs("", at)))
}

// text is the logs as JSON can hold them.
func (s *setup) text() string {
	return strings.ToValidUTF8(string(s.logs.Bytes()), "\uFFFD")
}

func (w *worker) setupTimedOut() {
	w.terminate(CauseSetupFailed, fmt.Sprintf("setup did not finish within %s", w.sup.o.Timeouts.Setup))
	w.setup.failure = fmt.Sprintf("Setup timed out after %s", w.sup.o.Timeouts.Setup)
	w.setup.late = nil
}

func (w *worker) setupFailed(body []byte) error {
	failed, err := ipc.ParseSetupFailed(body)
	if err != nil {
		return err
	}
	w.setup.late = nil
	w.setup.stage = Exited
	w.takeSetupLogs(failed.LogMark)
	w.setup.failure = failed.Error
	if failed.Problem != nil {
		w.setup.logs.Add([]byte(failed.Problem.Text() + "\n"))
	}
	w.change(func(st *ProcessStatus) {
		st.Setup.Completed, st.Setup.Failed, st.Setup.Logs, st.Setup.Problem = time.Now(), true, w.setup.text(), failed.Problem
	})
	w.setupEnded()
	if !w.sup.hidesSetupFailure() {
		if failed.Problem != nil {
			w.sup.note(stderr, "", []byte(failed.Problem.Text()))
		}
		w.sup.o.Logger.Error("setup failed", "worker", w.sup.o.Index, "error", failed.Error)
	}
	w.terminateLater() // threads that the model started may keep the process alive
	return nil
}

// failSetup shows the setup of a process that ended before it was ready as failed; rest is what else it wrote.
func (w *worker) failSetup(cause string, rest []byte) {
	said := false // by the worker itself
	w.change(func(st *ProcessStatus) {
		if said = st.Setup.Failed; said {
			return
		}
		w.setup.logs.Add(rest)
		st.Setup.Failed, st.Setup.Completed, st.Setup.Logs = true, time.Now(), w.setup.text()+cause+"\n"
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
