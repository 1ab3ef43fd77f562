package supervise

import (
	"bytes"
	"time"
)

// noteFunc writes a line of a worker's to the server's log, with the prediction that it belongs to, or "".
type noteFunc func(s source, prediction string, line []byte)

const (
	// lineLimit is the longest line of the server's log in bytes.
	lineLimit = 4 << 20
	// tellAfter is how long text waits for a mark that says whose it is. What the front reads may have been
	// written by a prediction that ended since, whose mark is on its way: only after a while it is safe to
	// say that it is of the one that runs. One that runs longer has its lines in the log while it runs.
	tellAfter = 100 * time.Millisecond
)

// serverLog is what the server's own log is told of a worker's text: lines, each once and with the prediction
// that wrote it. It is guarded by the lock of its logs.
type serverLog struct {
	records recorder
	running func() string // the prediction that the model has at this moment, or ""

	told    [sources]uint64 // positions up to which it has the text
	partial [sources][]byte // of a line that is not complete
	owner   [sources]string // whose that is
	timer   *time.Timer     // nil: nothing waits
	stopped bool
}

// Logged takes in whole lines that the worker told apart itself.
func (l *logs) Logged(s source, prediction string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(text) {
		l.server.records.line(s, prediction, bytes.TrimSuffix(line, []byte("\n")))
	}
	switch {
	case l.server.stopped:
		l.server.records.end()
	case len(l.server.records.held) > 0:
		l.tellSoon()
	}
}

// add tells what of a text that ends at a position was not told yet.
func (g *serverLog) add(s source, prediction string, end uint64, text []byte) {
	if end <= g.told[s] {
		return
	}
	fresh := min(uint64(len(text)), end-g.told[s])
	g.told[s] = end
	g.lines(s, prediction, text[uint64(len(text))-fresh:])
}

// lines hands complete lines on, and what is too long in pieces.
func (g *serverLog) lines(s source, prediction string, text []byte) {
	if prediction != g.owner[s] {
		g.flush(s)
		g.records.flush(recordKey{s, g.owner[s]})
		g.owner[s] = prediction
	}
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			g.partial[s] = append(g.partial[s], text...)
			if len(g.partial[s]) >= lineLimit {
				g.partial[s] = append(g.partial[s], " [cut: the line is longer than 4 MiB]"...)
				g.flush(s)
			}
			return
		}
		line := text[:i]
		if len(g.partial[s]) > 0 {
			line = append(g.partial[s], line...)
			g.partial[s] = g.partial[s][:0]
		}
		g.records.line(s, prediction, line)
		text = text[i+1:]
	}
}

// flush hands on a line that will not be completed.
func (g *serverLog) flush(s source) {
	if len(g.partial[s]) > 0 {
		g.records.line(s, g.owner[s], g.partial[s])
		g.partial[s] = g.partial[s][:0]
	}
}

// restart begins with a pipe that takes another one's place.
func (g *serverLog) restart(s source) {
	g.flush(s)
	g.records.flush(recordKey{s, g.owner[s]})
	g.told[s], g.owner[s] = 0, ""
}

// end hands on what is left.
func (g *serverLog) end() {
	for s := range g.partial {
		g.flush(source(s))
	}
	g.records.end()
}

// stop keeps the timer from coming again.
func (g *serverLog) stop() {
	g.stopped = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

// tell hands all on that is kept and was not told, as of the prediction that runs. Called with the lock held.
func (l *logs) tell() {
	prediction := l.server.running()
	for _, c := range l.text {
		if c.text != nil {
			l.server.add(c.source, prediction, c.end, c.text)
		}
	}
}

// tellSoon sees to it that what was read is told though no mark come. Called with the lock held.
func (l *logs) tellSoon() {
	if l.server.timer != nil || l.server.stopped {
		return
	}
	l.server.timer = time.AfterFunc(tellAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.server.timer = nil; !l.server.stopped {
			l.tell()
			if l.server.records.settle() {
				l.tellSoon() // the rest of a traceback may be on its way
			}
		}
	})
}
