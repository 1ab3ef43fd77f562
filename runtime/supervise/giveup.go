package supervise

import "time"

// A process may outlive SIGKILL: its control group is frozen, or one of its threads waits in a driver. The signal stays
// pending, so nothing of the model's runs any more; but nobody knows when the process is gone. So it is given up: its
// predictions fail, another takes its place, and the server ends without it.
const (
	// killPatience is how long a process may take to end before it is given up.
	killPatience = 3 * time.Second
	// exitPatience is the same for one that is on its way out: a driver that frees a GPU's memory takes seconds.
	exitPatience = 30 * time.Second
	// lastPatience is the same where the server itself is to end at once.
	lastPatience = time.Second
)

// givenUp tells whether nobody waits for the process's end any more.
func (p *process) givenUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gaveUp
}

// giveUp gives up a process whose end began so long ago, unless it has ended, or is on its way out and has time left.
// Where the server is to end at once, only one that has ended is waited for.
func (l *liveWorker) giveUp(after time.Duration, urgent bool) bool {
	p := l.process
	if !urgent && after < exitPatience && p.dying() {
		return false
	}
	if !p.giveUp(after) {
		return false
	}
	l.o.Logger.Error("a worker was killed and its process has not ended: it is given up", "worker", l.o.Index, "pid", p.pid)
	go func() {
		<-p.exited
		l.o.Logger.Info("a worker's process that was given up has ended", "worker", l.o.Index, "pid", p.pid)
	}()
	return true
}

// giveUp has the process count as ended; false: it has ended, and how is known at once.
func (p *process) giveUp(after time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return false
	}
	p.gaveUp = true
	p.exit = Exit{Killed: p.killed, Fault: p.fault, Stuck: max(time.Millisecond, after.Round(100*time.Millisecond))}
	return true
}
