package supervise

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// source is one of the pipes that a worker writes to: its two streams, and those that a prediction with children has
// to itself (ownpipes.go).
type source int

const (
	stdout source = iota
	stderr
	ownStdout
	ownStderr
	sources
	inherited = 2 // the first of them, which it starts with
)

var sourceNames = [sources]string{"stdout", "stderr", "stdout", "stderr"}

const (
	// logLimit bounds what is kept of unclaimed text: what one prediction writes beyond it is in the
	// server's log only.
	logLimit = 16 << 20
	readSize = 64 << 10
	// ownReadSize is for pipes that a prediction has to itself, which may live for long and carry little.
	ownReadSize = 8 << 10

	cutNotice = "\n[%d bytes of log were cut: %d MiB of it are kept]\n"
)

// logs reads a worker's log pipes, all the time and, on demand, up to a position. What was read is
// kept until it is claimed (Take, TakeAll).
type logs struct {
	mu      sync.Mutex
	page    *ipc.Page
	pipes   [sources]*pipe     // nil: the running prediction has no pipe of its own
	orphans map[*pipe]struct{} // whose text is nobody's
	text    []chunk            // unclaimed, in order of arrival
	held    int                // bytes in text
	server  serverLog
	done    sync.WaitGroup
}

type pipe struct {
	source   source
	orphan   *lines // not nil: its text is nobody's
	file     *os.File
	raw      syscall.RawConn
	counter  ipc.Consumed
	position uint64 // bytes read so far
	closed   bool
	buf      []byte
}

// chunk is what one source wrote between two positions.
type chunk struct {
	source     source
	begin, end uint64
	text       []byte // nil: it was dropped
}

// newLogs starts to read. It owns the files, which must be non-blocking.
func newLogs(files [inherited]*os.File, page *ipc.Page, note noteFunc, running func() string) (*logs, error) {
	l := &logs{page: page, server: serverLog{records: recorder{note: note}, running: running}, orphans: map[*pipe]struct{}{}}
	counters := [inherited]ipc.Consumed{page.Stdout(), page.Stderr()}
	for i, f := range files {
		p, err := newPipe(source(i), f, counters[i])
		if err != nil {
			return nil, err
		}
		l.pipes[i] = p
	}
	for _, p := range l.pipes[:inherited] {
		l.done.Add(1)
		go l.follow(p)
	}
	return l, nil
}

func newPipe(s source, f *os.File, counter ipc.Consumed) (*pipe, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("watch log pipe: %w", err)
	}
	size := readSize
	if s >= inherited {
		size = ownReadSize
	}
	return &pipe{source: s, file: f, raw: raw, counter: counter, buf: make([]byte, size)}, nil
}

// follow reads one pipe until it ends.
func (l *logs) follow(p *pipe) {
	defer l.done.Done()
	ended := false
	for !ended {
		err := p.raw.Read(func(fd uintptr) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			n, again := l.read(p, int(fd))
			ended = n == 0 && !again
			return !again
		})
		if err != nil {
			return // closed
		}
	}
	l.dropOrphan(p)
}

// read is one read of a pipe. Called with the lock held. The pipe's counter brackets it, for the
// worker works out from it how much it ever wrote.
func (l *logs) read(p *pipe, fd int) (n int, again bool) {
	if p.closed {
		return 0, false
	}
	if p.orphan != nil {
		return p.readOrphan(fd)
	}
	for {
		p.counter.Begin()
		n, err := unix.Read(fd, p.buf)
		p.counter.End(max(n, 0))
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, true
		case err != nil || n == 0:
			p.closed = true
			return 0, false
		}
		p.position += uint64(n)
		l.keep(p, p.buf[:n])
		l.tellSoon()
		return n, false
	}
}

// keep notes what was just read, and keeps it where there is room.
func (l *logs) keep(p *pipe, text []byte) {
	s := p.source
	c := chunk{source: s, begin: p.position - uint64(len(text)), end: p.position}
	fits := l.held+len(text) <= logLimit
	if !fits { // the server's log has it nevertheless
		l.tell()
		l.server.add(s, l.server.running(), c.end, text)
	}
	if n := len(l.text); n > 0 && l.text[n-1].source == s && (l.text[n-1].text != nil) == fits {
		c = l.text[n-1]
		c.end = p.position
		l.text = l.text[:n-1]
	}
	if fits {
		c.text = append(c.text, text...)
		l.held += len(text)
	}
	l.text = append(l.text, c)
}

// Take claims all text up to these positions for a prediction ("": for none), reading it where it still
// lies in the pipes. traceback: a traceback in it, with all that follows, is one record of the server's log.
func (l *logs) Take(prediction string, to [sources]uint64, traceback bool) []slot.Text {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, p := range l.pipes {
		for p != nil && p.position < to[s] && !p.closed {
			n, again := 0, false
			if err := p.raw.Control(func(fd uintptr) { n, again = l.read(p, int(fd)) }); err != nil {
				break
			}
			if n == 0 || again {
				break // cannot be: a position was written before it was told
			}
		}
	}
	l.server.records.whole = traceback
	defer func() { l.server.records.whole = false }()
	return l.claim(prediction, to)
}

// claim takes out of the kept text what lies before the positions. Called with the lock held.
func (l *logs) claim(prediction string, to [sources]uint64) []slot.Text {
	var claimed []slot.Text
	var cut uint64
	rest := l.text[:0]
	for _, c := range l.text {
		n := min(c.end, max(c.begin, to[c.source])) - c.begin
		if c.text == nil {
			cut += n
		} else {
			if n > 0 {
				claimed = append(claimed, slot.Text{Source: sourceNames[c.source], Text: c.text[:n]})
				l.held -= int(n)
			}
			l.server.add(c.source, prediction, c.begin+n, c.text[:n])
			c.text = c.text[n:]
		}
		if c.begin += n; c.begin < c.end {
			rest = append(rest, c)
		}
	}
	l.server.records.complete()
	clear(l.text[len(rest):]) // what is claimed must not be kept alive from here
	l.text = rest
	if cut > 0 {
		claimed = append(claimed, slot.Text{Source: sourceNames[stderr], Text: fmt.Appendf(nil, cutNotice, cut, logLimit>>20)})
	}
	return claimed
}

// TakeAll reads what is left of a dead worker's pipes and claims it. It neither waits for those of its
// children that still hold an end, nor follows what they go on writing.
func (l *logs) TakeAll() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pipes {
		if p == nil {
			continue
		}
		left := 0
		// The errors of both calls mean that there is nothing to read; read tells which of them.
		_ = p.raw.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		for to := p.position + uint64(left); p.position < to && !p.closed; {
			n, again := 0, false
			err := p.raw.Control(func(fd uintptr) { n, again = l.read(p, int(fd)) })
			if err != nil || again || n == 0 {
				break
			}
		}
	}
	// The marks that told the streams' order died with the worker. Last words go to stderr (the fault
	// handler's, an abort's), so what was printed before them comes first.
	slices.SortStableFunc(l.text, func(a, b chunk) int { return int(a.source%inherited) - int(b.source%inherited) })
	var end [sources]uint64
	for s := range end {
		end[s] = ^uint64(0)
	}
	texts := l.claim(l.server.running(), end)
	l.server.end()
	return joined(texts)
}

// Close stops reading.
func (l *logs) Close() {
	l.mu.Lock()
	all := l.all()
	for _, p := range all {
		p.closed = true
		if p.orphan != nil {
			p.orphan.end()
		}
	}
	l.server.end()
	l.server.stop()
	l.mu.Unlock()
	// Without the lock: closing waits for the reads in progress, and those wait for the lock.
	for _, p := range all {
		p.file.Close()
	}
	l.done.Wait()
}

// joined is the texts in one.
func joined(texts []slot.Text) []byte {
	var all []byte
	for _, t := range texts {
		all = append(all, t.Text...)
	}
	return all
}
