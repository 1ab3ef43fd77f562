package supervise

import (
	"fmt"
	"time"

	"pinion/ipc"
)

// A thread of the worker answers pings on its control channel without Python, even if the model is deep in C code. A
// worker that does not answer is stopped (SIGSTOP, a debugger, a frozen group), or its channel is broken.
//
// That thread answers even if Python's event loop is stuck, so a free slot that takes no call counts as well. Time is
// counted in pings: if this server itself was stopped, at most one ping is due, and the answers in the channel are read
// before the next.
const hangPings = 4 // sent within Timeouts.Hang

const unanswered = "it has not answered on its control channel for %s: it is stopped, or stuck as a whole"

type pings struct {
	serial     uint64 // of the newest
	unanswered int    // consecutive
}

func (w *worker) pingTimes() (due <-chan time.Time, stop func()) {
	if w.sup.o.Timeouts.Hang <= 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(max(time.Millisecond, w.sup.o.Timeouts.Hang/hangPings))
	return ticker.C, ticker.Stop
}

// hung ends a worker that hangs; a group logs first what its ranks do.
func (w *worker) hung(why string) {
	if w.group != nil {
		go w.group.doom(CauseHung, "rank 0: "+why)
		return
	}
	w.terminate(CauseHung, why)
}

// ping sends the worker a ping, and terminates it if it has not answered too many of them.
func (w *worker) ping() {
	if !w.setup.hello || w.terminated {
		return // it answers no ping before its hello; the setup has its own timeout
	}
	limit := w.sup.o.Timeouts.Hang.String()
	if w.pings.unanswered >= hangPings {
		w.hung(fmt.Sprintf(unanswered, limit))
		return
	}
	if w.sup.o.Pool.Stalled(w.slots) > hangPings {
		w.hung("a free slot of it has not taken a prediction for " + limit +
			": its event loop is blocked, or no longer reads its channel (--hang-timeout is the limit)")
		return
	}
	if w.group != nil {
		w.group.pingRanks(limit)
	}
	w.pings.unanswered++
	w.pings.serial++
	_ = w.process.control.Send(ipc.KindPing, w.pings.serial) // fails only if it has ended
}
