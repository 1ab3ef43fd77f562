package supervise

import "time"

// noteFunc writes a worker's line to the server's log, with its prediction or "".
type noteFunc func(s source, prediction string, line []byte)

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
	// attributed holds such lines of predictions that run at the same time.
	attributed map[recordKey]*lineBuffer
	timer      *time.Timer // nil if no text waits
	stopped    bool
}

// Logged logs text that the worker attributed itself. traceback means that a traceback in it, with all that follows, is
// one record.
func (l *logs) Logged(s source, prediction string, text []byte, traceback bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server.records.whole = traceback
	l.server.attribute(recordKey{s, prediction}, text)
	if traceback {
		key := recordKey{s, prediction}
		if b := l.server.attributed[key]; b != nil {
			b.flush(&l.server.records, key)
		}
		l.server.records.whole = false
		l.server.records.flush(key)
	}
	switch {
	case l.server.stopped:
		l.server.end()
	case len(l.server.records.pending)+len(l.server.attributed) > 0:
		l.logSoon()
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
