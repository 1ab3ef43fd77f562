package supervise

import (
	"bytes"
	"time"

	"pinion/runtime/logtext"
)

// noteFunc writes a line of a worker's to the server's log, with its prediction or "".
type noteFunc func(s source, prediction string, line []byte)

// logDelay is how long text waits for the mark that says whose it is. A prediction that has just ended may have written it,
// and its mark may be on its way. Text that is older belongs to the running prediction.
const logDelay = 100 * time.Millisecond

// serverLog passes a worker's text on to the server's log: each line once, with the prediction that wrote it. Guarded by the
// lock of its logs.
type serverLog struct {
	records recorder
	running func() string // the prediction that the model runs, or ""

	logged  [sources]uint64 // positions up to which it has the text
	partial [sources][]byte // the begin of a line that is not complete
	owner   [sources]string // the prediction that wrote it
	timer   *time.Timer     // nil: no text waits
	stopped bool
}

// Logged logs whole lines that the worker attributed itself. traceback: a traceback in them, with all that follows, is one
// record.
func (l *logs) Logged(s source, prediction string, text []byte, traceback bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server.records.whole = traceback
	for line := range bytes.Lines(text) {
		l.server.records.line(s, prediction, bytes.TrimSuffix(line, []byte("\n")))
	}
	if traceback {
		l.server.records.whole = false
		l.server.records.flush(recordKey{s, prediction})
	}
	switch {
	case l.server.stopped:
		l.server.records.end()
	case len(l.server.records.pending) > 0:
		l.logSoon()
	}
}

// add logs what is new of a text that ends at a position.
func (g *serverLog) add(s source, prediction string, end uint64, text []byte) {
	if end <= g.logged[s] {
		return
	}
	fresh := min(uint64(len(text)), end-g.logged[s])
	g.logged[s] = end
	g.lines(s, prediction, text[uint64(len(text))-fresh:])
}

// lines logs complete lines, and a line that is too long in pieces.
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
			if len(g.partial[s]) >= logtext.MaxLine {
				g.partial[s] = append(g.partial[s], logtext.LineNotice...)
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

func (g *serverLog) flush(s source) {
	if len(g.partial[s]) > 0 {
		g.records.line(s, g.owner[s], g.partial[s])
		g.partial[s] = g.partial[s][:0]
	}
}

// restart prepares for another pipe of this source.
func (g *serverLog) restart(s source) {
	g.flush(s)
	g.records.flush(recordKey{s, g.owner[s]})
	g.logged[s], g.owner[s] = 0, ""
}

func (g *serverLog) end() {
	for s := range g.partial {
		g.flush(source(s))
	}
	g.records.end()
}

func (g *serverLog) stop() {
	g.stopped = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

// logRetained logs the text that is retained, as the running prediction's. Called with the lock held.
func (l *logs) logRetained() {
	prediction := l.server.running()
	for _, c := range l.text {
		if c.text != nil {
			l.server.add(c.source, prediction, c.end, c.text)
		}
	}
}

// logSoon logs what was read after a delay, in case that no mark comes. Called with the lock held.
func (l *logs) logSoon() {
	if l.server.timer != nil || l.server.stopped {
		return
	}
	l.server.timer = time.AfterFunc(logDelay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.server.timer = nil; !l.server.stopped {
			l.logRetained()
			if l.server.records.settle() {
				l.logSoon() // the rest of a traceback may be on its way
			}
		}
	})
}
