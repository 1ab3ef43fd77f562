package supervise

import "time"

// A process may outlive SIGKILL: its control group is frozen, or one of its threads waits in a driver. It does not run
// the model any more, but it may never end. So it is given up: its predictions fail, another process replaces it, and
// the server ends without it.
const (
	// killTimeout is how long a killed process may take to end before it is given up.
	killTimeout = 3 * time.Second
	// exitTimeout is the same for one that is exiting: a driver takes seconds to free a GPU's memory.
	exitTimeout = 30 * time.Second
	// lastTimeout is the same if the server must end at once.
	lastTimeout = time.Second
)

// giveUp gives up a process whose end began that long ago. It returns false if the process has ended, or is exiting and
// has time left. urgent means that an exiting one has none left, because the server must end at once.
func (w *worker) giveUp(after time.Duration, urgent bool) bool {
	p := w.process
	if !urgent && after < exitTimeout && p.child.dying() {
		return false
	}
	if !p.giveUp(after) {
		return false
	}
	p.child.killTree()
	w.sup.o.Logger.Error("a worker was killed and its process has not ended: it is given up", "worker", w.sup.o.Index,
		"pid", p.child.pid)
	go func() {
		<-p.child.exited
		w.sup.o.Logger.Info("a worker's process that was given up has ended", "worker", w.sup.o.Index, "pid", p.child.pid)
	}()
	return true
}

// giveUp treats the process as ended. It returns false if the process has ended, so that its exit is known at once.
func (p *process) giveUp(after time.Duration) bool {
	p.child.mu.Lock()
	defer p.child.mu.Unlock()
	if p.child.ended {
		return false
	}
	p.gaveUp = true
	p.child.givenUp.close()
	p.child.exit = Exit{Killed: p.killed, Fault: p.fault, Stuck: max(time.Millisecond, after.Round(100*time.Millisecond))}
	return true
}

// givenUp reports whether the process counts as ended although it has not.
func (p *process) givenUp() bool {
	p.child.mu.Lock()
	defer p.child.mu.Unlock()
	return p.gaveUp
}
