package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/logtext"
	"pinion/runtime/slot"
)

// source is one of the pipes that a worker writes to: its two streams, and those of a prediction with children
// (predictionpipes.go).
type source int

const (
	stdout source = iota
	stderr
	ownStdout
	ownStderr
	sources
	inherited = 2 // the first of them, which the worker starts with
)

var sourceNames = [sources]string{"stdout", "stderr", "stdout", "stderr"}

const (
	readSize = 64 << 10
	// ownReadSize is for the pipes of predictions, which may live long and carry little.
	ownReadSize = 8 << 10
)

// logs reads a worker's log pipes: all the time and, on demand, up to a position. It keeps what it has read until that
// is claimed (Take, TakeAll).
type logs struct {
	mu           sync.Mutex
	page         *ipc.Page
	pipes        [sources]*pipe // nil if the running prediction has no pipes
	unattributed unattributed
	text         []chunk // unclaimed, in order of arrival
	retained     int     // bytes in text
	server       serverLog
	setup        logtext.Text // what the setup wrote, as far as it was claimed
	done         sync.WaitGroup
}

type pipe struct {
	source       source
	unattributed *lines // if not nil, the text belongs to no prediction
	file         *os.File
	raw          syscall.RawConn
	counter      ipc.Consumed
	position     uint64 // bytes read so far
	closed       bool
	buf          []byte
}

// chunk is what one source wrote between two positions.
type chunk struct {
	source     source
	begin, end uint64
	text       []byte // nil if it was dropped
}

// newLogs starts reading. It owns the files, which must be non-blocking.
func newLogs(files [inherited]*os.File, page *ipc.Page, records recorder, running func() string) (*logs, error) {
	l := &logs{page: page, unattributed: newUnattributed(), server: serverLog{records: records, running: running}}
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
	l.forget(p)
}

// read reads a pipe once; again means that the pipe is empty. Called with the lock held.
func (l *logs) read(p *pipe, fd int) (n int, again bool) {
	if p.closed {
		return 0, false
	}
	buf := p.buf
	if p.unattributed != nil {
		buf = l.unattributed.buf
	}
	for {
		n, err := p.readCounted(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, true
		case err != nil || n == 0:
			p.closed = true
			return 0, false
		case p.unattributed != nil:
			_, _ = p.unattributed.Write(buf[:n]) // never fails
		default:
			p.position += uint64(n)
			l.retain(p, buf[:n])
			l.logSoon()
		}
		return n, false
	}
}

// readCounted surrounds a read with updates of the pipe's counter, from which the worker computes how much it ever
// wrote. The counter of an unattributed pipe belongs to the next prediction.
func (p *pipe) readCounted(fd int, buf []byte) (int, error) {
	if p.unattributed != nil {
		return unix.Read(fd, buf)
	}
	p.counter.Begin()
	n, err := unix.Read(fd, buf)
	p.counter.End(max(n, 0))
	return n, err
}

// readTo reads a pipe up to a position, or until it is empty. Called with the lock held.
func (l *logs) readTo(p *pipe, position uint64) {
	for p.position < position && !p.closed {
		n, again := 0, false
		err := p.raw.Control(func(fd uintptr) { n, again = l.read(p, int(fd)) })
		if err != nil || n == 0 || again {
			return
		}
	}
}

// retain keeps what was just read, if there is room, and always records that it was written.
func (l *logs) retain(p *pipe, text []byte) {
	s := p.source
	c := chunk{source: s, begin: p.position - uint64(len(text)), end: p.position}
	fits := l.retained+len(text) <= logtext.Max
	if !fits { // only the server's log has it
		l.logRetained()
		l.server.add(s, l.server.running(), c.end, text)
	}
	if n := len(l.text); n > 0 && l.text[n-1].source == s && (l.text[n-1].text != nil) == fits {
		c = l.text[n-1]
		c.end = p.position
		l.text = l.text[:n-1]
	}
	if fits {
		c.text = append(c.text, text...)
		l.retained += len(text)
	}
	l.text = append(l.text, c)
}

// Take claims all text up to these positions for a prediction ("" means none), and reads the rest of it from the pipes.
func (l *logs) Take(prediction string, to [sources]uint64) []slot.Text {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(prediction, to)
}

// take is Take with the lock held.
func (l *logs) take(prediction string, to [sources]uint64) []slot.Text {
	for s, p := range l.pipes {
		if p != nil {
			l.readTo(p, to[s]) // all of it is there, because a position is sent after the text was written
		}
	}
	return l.claim(prediction, to)
}

// claim removes the text before the positions and returns it. Called with the lock held.
func (l *logs) claim(prediction string, to [sources]uint64) []slot.Text {
	var claimed []slot.Text
	var dropped uint64
	rest := l.text[:0]
	for _, c := range l.text {
		n := min(c.end, max(c.begin, to[c.source])) - c.begin
		if c.text == nil {
			dropped += n
		} else {
			if n > 0 {
				claimed = append(claimed, slot.Text{Source: sourceNames[c.source], Text: c.text[:n]})
				l.retained -= int(n)
			}
			l.server.add(c.source, prediction, c.begin+n, c.text[:n])
			c.text = c.text[n:]
		}
		if c.begin += n; c.begin < c.end {
			rest = append(rest, c)
		}
	}
	l.server.records.complete()
	clear(l.text[len(rest):]) // so that the slice does not keep claimed text alive
	l.text = rest
	if dropped > 0 {
		claimed = append(claimed, slot.Text{Source: sourceNames[stderr], Text: logtext.AppendNotice(nil, int(dropped))})
	}
	return claimed
}

// TakeAll reads what an exited worker has left in its pipes and claims it. It neither waits for children that still
// hold an end, nor reads what they write later.
func (l *logs) TakeAll() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pipes {
		if p == nil {
			continue
		}
		available := 0
		// Errors mean that there is nothing to read, which readTo finds out.
		_ = p.raw.Control(func(fd uintptr) { available, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		l.readTo(p, p.position+uint64(available))
	}
	// No mark says how the rest of the two streams interleaves. The last text of a process goes to stderr (the fault
	// handler's, an abort's), so stdout comes first.
	slices.SortStableFunc(l.text, func(a, b chunk) int { return int(a.source%inherited) - int(b.source%inherited) })
	var end [sources]uint64
	for s := range end {
		end[s] = ^uint64(0)
	}
	texts := l.claim(l.server.running(), end)
	l.server.end()
	return joined(texts)
}

func (l *logs) Close() {
	l.mu.Lock()
	pipes := l.all()
	for _, p := range pipes {
		p.closed = true
		if p.unattributed != nil {
			p.unattributed.end()
		}
	}
	l.server.end()
	l.server.stop()
	l.mu.Unlock()
	// Without the lock: closing waits for the reads in progress, which wait for the lock.
	for _, p := range pipes {
		p.file.Close()
	}
	l.done.Wait()
}

func joined(texts []slot.Text) []byte {
	var text []byte
	for _, t := range texts {
		text = append(text, t.Text...)
	}
	return text
}
