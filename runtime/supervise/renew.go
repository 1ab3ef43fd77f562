package supervise

import (
	"fmt"
	"time"

	"pinion/runtime/slot"
)

// Renewal is the order in which a worker and the one that takes its place go and come.
type Renewal string

const (
	// StartFirst: the new one is set up beside the old, which leaves once it is ready.
	StartFirst Renewal = "start-first"
	// StopFirst: the old one leaves first, for where there is no memory for both.
	StopFirst Renewal = "stop-first"
)

// pulseEvery is the time between two looks at a worker's memory.
const pulseEvery = time.Second

// Renew has the worker replaced by one of a new process, which takes over when it is ready; why is for the
// log. Not one prediction is lost by it. Of the workers of a fleet one is renewed at a time. It returns at
// once; a wish that comes while one waits counts as one.
func (s *Supervisor) Renew(why string) { s.ask(wish{why: why}) }

// RenewOnce is Renew for a model that has changed. A process that fails is not followed by another try: what it failed of is to be
// changed first. One that is still being set up when the next wish comes is given up for that.
func (s *Supervisor) RenewOnce(why string) { s.ask(wish{why: why, once: true}) }

// wish is that a worker be renewed, and why.
type wish struct {
	why  string
	once bool // a failure ends it
}

func (s *Supervisor) ask(w wish) {
	select {
	case s.wishes <- w:
	default:
	}
}

// Reset says what the next processes are to be.
func (s *Supervisor) Reset(spec Spec, env []string) {
	s.mu.Lock()
	s.next, s.nextEnv = spec, env
	s.mu.Unlock()
}

// reign starts a process and returns when it has ended, or the last of those that followed it at once.
func (s *Supervisor) reign() ending {
	r := reign{Supervisor: s, current: s.launch(false), wishes: s.wishes, follows: s.mine}
	for {
		if ended, over := r.step(); over {
			return ended
		}
	}
}

// reign is one place while a process holds it. It runs in the supervisor's goroutine.
type reign struct {
	*Supervisor
	current *liveWorker
	heir    *liveWorker // nil: none
	back    backoff     // of heirs that fail

	wishes  <-chan wish // nil: there is one already
	wish    wish
	newer   *wish            // takes the place of wish, whose heir was told to leave; nil: there is none
	turn    chan struct{}    // to be entered for the wish's sake; nil: not wanted
	follows bool             // the turn is still that of the process before
	retired <-chan struct{}  // closed when the process that was replaced is gone
	again   <-chan time.Time // then the wish is tried once more
}

// step waits for one event and acts on it. true: no process is left.
func (r *reign) step() (ending, bool) {
	var heirReady <-chan struct{}
	var heirEnded <-chan ending
	var newer <-chan wish
	if r.heir != nil {
		heirReady, heirEnded = r.heir.readied, r.heir.ended
		switch {
		case r.newer != nil:
			heirReady = nil // it may have become ready before it heard
		case r.wish.once:
			newer = r.Supervisor.wishes
		}
	}
	var settled <-chan struct{}
	if r.follows {
		settled = r.current.readied
	}
	select {
	case <-settled:
		r.follows = false
		r.pass()
	case r.wish = <-r.wishes:
		r.wishes, r.turn = nil, r.o.Fleet.turn
	case w := <-newer:
		r.o.Logger.Info("the worker's successor is given up for a newer one", "worker", r.o.Index, "reason", w.why)
		r.newer = &w
		r.heir.retire(farewell{why: w.why})
	case r.turn <- struct{}{}:
		r.turn, r.mine = nil, true
		r.renew()
	case <-r.again:
		r.again = nil
		r.renew()
	case <-heirReady:
		r.takeOver()
	case ended := <-heirEnded:
		r.heirFailed(ended)
	case <-r.retired:
		r.retired = nil
		r.succeed(r.current) // where the old one ended before it could
		r.pass()
		r.wishes = r.Supervisor.wishes
	case ended := <-r.current.ended:
		return r.lost(ended)
	case <-r.stop:
		ended := <-r.current.ended
		if r.heir != nil {
			<-r.heir.ended
		}
		return ended, true
	}
	return ending{}, false
}

// renew begins to do what was wished for.
func (r *reign) renew() {
	r.o.Logger.Info("worker is being renewed", "worker", r.o.Index, "reason", r.wish.why)
	if r.o.Renewal == StopFirst {
		r.current.retire(farewell{why: r.wish.why})
		return // its end comes out of its channel
	}
	r.heir = r.launch(true)
	r.o.OnChange()
}

// takeOver lets the heir, which is ready and has calls already, take the place. The old one says so, when it has
// left the pool: who then sees the new worker, and asks, is not answered by the old.
func (r *reign) takeOver() {
	old := r.current
	r.current, r.heir = r.heir, nil
	old.retire(farewell{why: r.wish.why, heir: r.current})
	gone := make(chan struct{})
	r.retired = gone
	go func() {
		<-old.ended
		close(gone)
	}()
}

// heirFailed keeps the old process, and tries again later.
func (r *reign) heirFailed(ended ending) {
	r.heir = nil
	r.mu.Lock()
	r.Supervisor.heir = nil
	r.mu.Unlock()
	r.o.OnChange()
	if r.newer != nil {
		r.wish, r.newer = *r.newer, nil
		r.renew()
		return
	}
	if r.wish.once {
		r.o.Logger.Error("the worker's successor failed: the old one stays", "worker", r.o.Index, "cause", ended.cause)
		r.pass()
		r.wishes = r.Supervisor.wishes
		return
	}
	delay, _ := r.back.died(time.Now(), false)
	delay = max(delay, firstDelay)
	r.o.Logger.Error("the worker's successor failed: the old one stays", "worker", r.o.Index, "cause", ended.cause, "next_try", delay.String())
	r.again = r.after(delay)
}

// lost is for the end of the current process. An heir that is being set up is the next.
func (r *reign) lost(ended ending) (ending, bool) {
	r.succeed(r.current)
	if r.heir == nil || ended.stopped {
		if r.heir != nil {
			<-r.heir.ended
		}
		if !ended.retired {
			r.pass()
		}
		return ended, true
	}
	r.o.Logger.Warn("its successor is on its way already", "worker", r.o.Index)
	r.current, r.heir = r.heir, nil
	r.succeed(r.current)
	r.pass()
	r.wishes = r.Supervisor.wishes
	return ending{}, false
}

// succeed shows a process in the place of the one that it is to follow; one that was shown, or is nobody's heir any
// more, changes nothing.
func (s *Supervisor) succeed(heir *liveWorker) {
	s.mu.Lock()
	if s.heir != heir {
		s.mu.Unlock()
		return
	}
	s.current, s.heir = heir, nil
	heir.heir = false
	s.status.Restarts++
	s.mu.Unlock()
	s.o.OnChange()
}

// pass gives the fleet's turn to the next.
func (s *Supervisor) pass() {
	if s.mine {
		<-s.o.Fleet.turn
		s.mine = false
	}
}

// retire asks a process to finish what it has and to leave.
func (l *liveWorker) retire(f farewell) {
	select {
	case l.retiring <- f:
	default: // it was asked often enough
	}
}

// alarms are what the pool tells of this process. They are called with the pool's lock held, or by a
// goroutine that carries answers: neither may wait.
func (l *liveWorker) alarms() slot.Alarms {
	return slot.Alarms{
		Answers: l.o.MaxAnswers,
		Worn:    func() { l.Renew(fmt.Sprintf("it has answered %d predictions", l.o.MaxAnswers)) },
		Fatal:   l.o.Fleet.gpu.fatal,
		Lost: func(body []byte) {
			l.retire(farewell{why: lostGPU + errorOf(body), fault: true})
		},
	}
}

// beat looks at the process's memory.
func (l *liveWorker) beat() {
	l.beats++
	if l.beats%oomBeats == 0 {
		l.oom.pulse()
	}
	if l.o.MaxMemory <= 0 || l.stage != Ready || l.fat {
		return
	}
	if has := resident(l.process.pid); has > l.o.MaxMemory {
		l.fat = true
		l.Renew(fmt.Sprintf("it has %s of memory, more than %s", bytesText(has), bytesText(l.o.MaxMemory)))
	}
}

// oomBeats is how many pulses the kernel's count of memory kills is kept for, at least.
const oomBeats = 5
