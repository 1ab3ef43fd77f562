package supervise

import (
	"sync"
	"time"
)

// lines splits what a process writes into lines, and logs them as records.
type lines struct {
	mu      sync.Mutex
	key     recordKey
	records recorder
	buffer  lineBuffer
	timer   *time.Timer // nil if no text waits
	ended   bool
}

func newLines(s source, records recorder) *lines {
	return &lines{key: recordKey{source: s}, records: records, buffer: lineBuffer{limit: readSize}}
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer.add(&l.records, l.key, text)
	l.records.complete() // an idle process writes no line that would end a traceback
	l.settleSoon()
	return len(text), nil
}

// settleSoon logs a line without its end after a while. Called with the lock held.
func (l *lines) settleSoon() {
	if l.timer != nil || l.ended || !l.buffer.holds() {
		return
	}
	l.timer = time.AfterFunc(logDelay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.timer = nil; !l.ended && l.buffer.settle(&l.records, l.key, time.Now()) {
			l.settleSoon()
		}
	})
}

// end logs what came after the last whole line.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.buffer.flush(&l.records, l.key)
	l.records.end()
}
