package supervise

import (
	"time"

	"pinion/ipc"
)

// A thread of the worker's own answers questions on its control channel, without Python: a model deep in C
// code does not keep it from that. One that does not answer is stopped (SIGSTOP, a debugger, a frozen
// group), or its control channel is not in order.
//
// That thread answers also where Python's loop is stuck: a coroutine that blocks, a model that took our sockets off the
// loop or wrote over the shared page. So the slots are looked at as well: a free slot that does not take a call.
//
// Time is counted in questions, not by the clock: where this server itself was stopped, or the machine
// asleep, one is due at most, and the answers that lie in the channel are read before the next.
const hangQuestions = 4 // in the time that a worker may take to answer

// questions is when to ask the next.
func (l *liveWorker) questions() (due <-chan time.Time, stop func()) {
	if l.o.HangTimeout <= 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(max(time.Millisecond, l.o.HangTimeout/hangQuestions))
	return ticker.C, ticker.Stop
}

// question asks the worker for a sign of life, and ends it where it has left too many without one.
func (l *liveWorker) question() {
	if !l.greeted || l.condemned {
		return // before its hello nobody is there to answer; the setup has a time limit of its own
	}
	if l.unanswered >= hangQuestions {
		l.condemn(Hung, "it has not answered on its control channel for "+l.o.HangTimeout.String()+": it is stopped, or stuck as a whole")
		return
	}
	if l.o.Pool.Stalled(l.slots) > hangQuestions {
		l.condemn(Hung, "a free slot of it has not taken a prediction for "+l.o.HangTimeout.String()+
			": its event loop is blocked, or does not read its channel any more (--hang-timeout is the limit)")
		return
	}
	l.unanswered++
	l.serial++
	_ = l.process.control.Send(ipc.KindPing, l.serial) // fails only if it has left
}
