package supervise

import (
	"log/slog"
	"slices"
	"time"

	"pinion/ipc"
)

// noteFunc writes a worker's line to the server's log, with its prediction or "", and attributes.
type noteFunc func(level slog.Level, s source, prediction string, line []byte, more ...any)

// logDelay is how long text waits for the mark that says whose it is. A prediction that has just ended may have written
// it, and its mark may be on its way. Text that is older belongs to the running prediction.
const logDelay = 100 * time.Millisecond

// serverLog passes a worker's text on to the server's log: each line once, with the prediction that wrote it. Guarded
// by the lock of its logs.
type serverLog struct {
	records recorder
	running func() string // the prediction that the model runs, or ""

	logged  [sources]uint64     // positions up to which it has the text
	buffers [sources]lineBuffer // the lines of the pipes that have not ended
	owner   [sources]string     // the prediction that wrote them
	marked  []ipc.LogRecord     // text that comes or is not logged yet, in order for each pipe
	// attributed holds such lines of predictions that run at the same time.
	attributed map[recordKey]*lineBuffer
	timer      *time.Timer // nil if no text waits
	stopped    bool
}

// Logged logs text that the worker attributed itself.
func (l *logs) Logged(s source, prediction string, text []byte, record *ipc.LogRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := recordKey{s, prediction}
	if record == nil {
		l.server.attribute(key, text)
	} else {
		if b := l.server.attributed[key]; b != nil {
			b.flush(&l.server.records, key)
		}
		l.server.records.record(key, text, *record)
	}
	switch {
	case l.server.stopped:
		l.server.end()
	case len(l.server.records.pending)+len(l.server.attributed) > 0:
		l.logSoon()
	}
}

// Mark says that a text in a pipe is a record. It comes before the text is written.
func (l *logs) Mark(r ipc.LogRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Pipe >= 0 && r.Pipe < int(sources) && r.To > l.server.logged[r.Pipe] {
		l.server.marked = append(l.server.marked, r)
	}
}

// attribute logs text that the worker attributed itself. Most comes in whole lines.
func (g *serverLog) attribute(key recordKey, text []byte) {
	if b := g.attributed[key]; b != nil {
		b.add(&g.records, key, text)
		return
	}
	var b lineBuffer
	b.add(&g.records, key, text)
	if !b.holds() && b.logged.IsZero() {
		return
	}
	if g.attributed == nil {
		g.attributed = map[recordKey]*lineBuffer{}
	}
	kept := b
	g.attributed[key] = &kept
}

// add logs the new part of a text that ends at a position.
func (g *serverLog) add(s source, prediction string, end uint64, text []byte) {
	for end > g.logged[s] {
		fresh := min(uint64(len(text)), end-g.logged[s])
		text = text[uint64(len(text))-fresh:]
		begin := end - fresh
		g.logged[s] = begin
		switch r := g.nextMarked(s); {
		case r == nil || r.From >= end:
			g.lines(s, prediction, text)
			g.logged[s] = end
		case r.From > begin:
			g.lines(s, prediction, text[:r.From-begin])
			g.logged[s] = r.From
		default:
			g.flush(s)
			g.logged[s] = min(end, r.To)
			g.records.record(recordKey{s, prediction}, text[:g.logged[s]-begin], *r)
		}
	}
}

// nextMarked returns the first record of a pipe that is not logged, or nil.
func (g *serverLog) nextMarked(s source) *ipc.LogRecord {
	for i := 0; i < len(g.marked); i++ {
		switch m := &g.marked[i]; {
		case source(m.Pipe) != s:
		case m.To > g.logged[s]:
			return m
		default:
			g.marked = slices.Delete(g.marked, i, i+1)
			i--
		}
	}
	return nil
}

// lines logs complete lines, and a line that is too long in pieces.
func (g *serverLog) lines(s source, prediction string, text []byte) {
	if prediction != g.owner[s] {
		g.flush(s)
		g.owner[s] = prediction
	}
	g.buffers[s].add(&g.records, recordKey{s, prediction}, text)
}

// flush logs what a pipe's last writer has left.
func (g *serverLog) flush(s source) {
	key := recordKey{s, g.owner[s]}
	g.buffers[s].flush(&g.records, key)
	g.records.flush(key)
}

// settle logs what was held back for long enough; waits means that more is held back.
func (g *serverLog) settle() (waits bool) {
	now := time.Now()
	for s := range g.buffers {
		if b := &g.buffers[s]; b.holds() && b.settle(&g.records, recordKey{source(s), g.owner[s]}, now) {
			waits = true
		}
	}
	for key, b := range g.attributed {
		if !b.settle(&g.records, key, now) && now.Sub(b.since) >= lineDelay && now.Sub(b.logged) >= lineDelay {
			b.flush(&g.records, key) // its prediction may have ended
			delete(g.attributed, key)
		}
	}
	return g.records.settle() || waits || len(g.attributed) > 0
}

// restart prepares for another pipe of this source.
func (g *serverLog) restart(s source) {
	g.flush(s)
	g.logged[s], g.owner[s] = 0, ""
	g.marked = slices.DeleteFunc(g.marked, func(r ipc.LogRecord) bool { return source(r.Pipe) == s })
}

func (g *serverLog) end() {
	for s := range g.buffers {
		g.flush(source(s))
	}
	for key, b := range g.attributed {
		b.flush(&g.records, key)
	}
	g.attributed = nil
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

// logSoon logs what was read after a delay, in case no mark comes. Called with the lock held.
func (l *logs) logSoon() {
	if l.server.timer != nil || l.server.stopped {
		return
	}
	l.server.timer = time.AfterFunc(logDelay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.server.timer = nil; !l.server.stopped {
			l.logRetained()
			if l.server.settle() {
				l.logSoon() // the rest of a line or a traceback may be on its way
			}
		}
	})
}
