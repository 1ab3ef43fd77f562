package supervise

import (
	"os"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// A prediction that starts children has two pipes while it runs; pyembed/process_pipes.c makes them. Its children may
// outlive it. What they write then is unattributed output: it belongs to no prediction. So each such pipe is read until
// its last writer closes it.

// unattributed are the pipes of predictions that have ended. Guarded by the lock of logs.
type unattributed struct {
	pipes map[*pipe]struct{}
	buf   []byte // shared by all, which are read under the lock
	// most is how many are read: 1024, or a quarter of the descriptors that the front may open. Above that, the
	// children of a prediction share the worker's pipes.
	most int
}

func newUnattributed() unattributed {
	limit := unix.Rlimit{Cur: 4096}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // fails for no known resource
	return unattributed{pipes: map[*pipe]struct{}{}, most: int(min(1024, limit.Cur/4))}
}

func (u *unattributed) full() bool { return len(u.pipes) > u.most }

// add starts reading another pipe, and takes over its descriptor. orphaned means that its prediction has ended already.
func (l *logs) add(s source, fd int, orphaned bool) {
	if fd < 0 {
		return
	}
	_ = unix.SetNonblock(fd, true) // fails for no descriptor that is open
	file := os.NewFile(uintptr(fd), sourceNames[s])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server.stopped || l.pipes[s] != nil && !orphaned {
		file.Close()
		return
	}
	out, err := l.page.PredictionPipes()
	p, failed := newPipe(s, file, [...]ipc.Consumed{out, err}[s-ownStdout])
	if failed != nil {
		file.Close()
		return
	}
	if orphaned {
		l.orphan(p)
	} else {
		l.pipes[s] = p
	}
	l.done.Add(1)
	go l.follow(p)
}

// orphan makes further output of a pipe unattributed. Called with the lock held.
func (l *logs) orphan(p *pipe) {
	p.unattributed = newLines(p.source%inherited, recorder{note: l.server.records.note, draws: l.server.records.draws})
	p.buf = nil
	u := &l.unattributed
	if u.buf == nil {
		u.buf = make([]byte, ownReadSize)
	}
	u.pipes[p] = struct{}{}
	l.page.SetPredictionPipesFull(u.full())
}

// endOwn makes the pipes of the running prediction unattributed, with what was read from them since its last mark.
func (l *logs) endOwn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server.stopped {
		return
	}
	rest := l.text[:0]
	for _, c := range l.text {
		if c.source < inherited {
			rest = append(rest, c)
			continue
		}
		l.server.add(c.source, "", c.end, c.text)
		l.retained -= len(c.text)
	}
	clear(l.text[len(rest):])
	l.text = rest
	for s := ownStdout; s <= ownStderr; s++ {
		if p := l.pipes[s]; p != nil {
			l.pipes[s] = nil
			if p.closed { // its last writer has closed it
				p.file.Close()
			} else {
				l.orphan(p)
			}
		}
		l.server.restart(s)
	}
	l.page.EndPredictionPipes()
}

// forget closes a pipe that has ended, if it is unattributed; Close and endOwn close the others.
func (l *logs) forget(p *pipe) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := &l.unattributed
	if _, found := u.pipes[p]; !found {
		return
	}
	p.unattributed.end()
	p.file.Close()
	delete(u.pipes, p)
	if !l.server.stopped { // otherwise the page may be unmapped
		l.page.SetPredictionPipesFull(u.full())
	}
}

// all returns every pipe. Called with the lock held.
func (l *logs) all() []*pipe {
	var pipes []*pipe
	for _, p := range l.pipes {
		if p != nil {
			pipes = append(pipes, p)
		}
	}
	for p := range l.unattributed.pipes {
		pipes = append(pipes, p)
	}
	return pipes
}
