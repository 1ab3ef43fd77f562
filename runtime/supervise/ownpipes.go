package supervise

import (
	"os"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// A prediction that makes children has two pipes to itself, as long as it runs: pyembed/px_pipes.c makes them. Its children
// may outlive it, and what they write then is nobody's. So each such pipe is followed until its last writer is gone.

// mostOrphans is how many pipes of one worker may be followed after their prediction's end. A model that leaves a process behind in
// every prediction has them share the worker's own pipes beyond that.
const mostOrphans = 128

// add follows another pipe. It takes over the descriptor.
func (l *logs) add(s source, fd int, nobodys bool) {
	if fd < 0 {
		return
	}
	_ = unix.SetNonblock(fd, true) // fails for no descriptor that is open
	file := os.NewFile(uintptr(fd), sourceNames[s])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server.stopped || l.pipes[s] != nil && !nobodys {
		file.Close()
		return
	}
	out, err := l.page.Own()
	p, failed := newPipe(s, file, [...]ipc.Consumed{out, err}[s-ownStdout])
	if failed != nil {
		file.Close()
		return
	}
	if nobodys {
		l.leave(p)
	} else {
		l.pipes[s] = p
	}
	l.done.Add(1)
	go l.follow(p)
}

// leave makes a pipe nobody's. Called with the lock held.
func (l *logs) leave(p *pipe) {
	p.orphan = newLines(p.source%inherited, func(s source, text []byte) { l.server.records.note(s, "", text) })
	l.orphans[p] = struct{}{}
	l.page.SetOwnFull(len(l.orphans) > mostOrphans)
}

// endOwn makes the running prediction's own pipes nobody's, as what was read of them since its last mark is.
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
		l.held -= len(c.text)
	}
	clear(l.text[len(rest):])
	l.text = rest
	for s := ownStdout; s <= ownStderr; s++ {
		if p := l.pipes[s]; p != nil {
			l.pipes[s] = nil
			if p.closed { // its last writer is gone
				p.file.Close()
			} else {
				l.leave(p)
			}
		}
		l.server.restart(s)
	}
	l.page.EndOwn()
}

// readOrphan is one read of a pipe that is nobody's. Called with the lock held.
func (p *pipe) readOrphan(fd int) (n int, again bool) {
	for {
		n, err := unix.Read(fd, p.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, true
		case err != nil || n == 0:
			p.closed = true
			return 0, false
		}
		_, _ = p.orphan.Write(p.buf[:n]) // never fails
		return n, false
	}
}

// dropOrphan forgets a pipe that has ended, if it is nobody's.
func (l *logs) dropOrphan(p *pipe) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, is := l.orphans[p]; !is {
		return // its file is closed with the others
	}
	p.orphan.end()
	p.file.Close()
	delete(l.orphans, p)
	if !l.server.stopped { // else the page may be gone
		l.page.SetOwnFull(len(l.orphans) > mostOrphans)
	}
}

// all is every pipe. Called with the lock held.
func (l *logs) all() []*pipe {
	var all []*pipe
	for _, p := range l.pipes {
		if p != nil {
			all = append(all, p)
		}
	}
	for p := range l.orphans {
		all = append(all, p)
	}
	return all
}
