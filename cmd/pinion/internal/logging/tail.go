package logging

import (
	"bytes"
	"strings"

	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/logtext"
)

// Bounds of a tail.
const (
	tailRecords = 200
	tailBytes   = 64 << 10
)

// tail is the end of a log, kept while a client watches it. The sink's lock guards it.
type tail struct {
	watchers int
	records  []string // the oldest first
	bytes    int      // of records
	last     uint64   // how many records there ever were
}

// Watch keeps the end of the log from now on, until as many calls of Unwatch.
func (s *Sink) Watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.watchers++
}

// Unwatch undoes Watch.
func (s *Sink) Unwatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail.watchers--; s.tail.watchers == 0 {
		s.tail = tail{last: s.tail.last}
	}
}

// Since returns the last records of those after the first n, without colours, and how many there ever were.
func (s *Sink) Since(n uint64) (records []string, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.tail
	fresh := min(t.last-min(n, t.last), uint64(len(t.records)))
	return append(records, t.records[uint64(len(t.records))-fresh:]...), t.last
}

func (t *tail) add(record []byte) {
	text := strings.ToValidUTF8(string(plain(record)), "\uFFFD")
	if text == "" {
		return
	}
	text = logtext.ClipTo(text, tailBytes/4)
	t.records, t.bytes, t.last = append(t.records, text), t.bytes+len(text), t.last+1
	for len(t.records) > tailRecords || t.bytes > tailBytes {
		t.bytes -= len(t.records[0])
		t.records = append(t.records[:0], t.records[1:]...)
	}
}

// plain returns a record without what only a terminal understands; nothing remains of a line that is drawn over.
func plain(record []byte) []byte {
	drawn := terminal.AppendClipped(nil, nil)
	if bytes.Contains(record, drawn[:len(drawn)/2]) {
		return nil
	}
	out := make([]byte, 0, len(record))
	for i := 0; i < len(record); i++ {
		if record[i] == '\x1b' && i+1 < len(record) && record[i+1] == '[' {
			for i += 2; i < len(record) && (record[i] < '@' || record[i] > '~'); i++ {
			}
			continue
		}
		if record[i] != '\r' {
			out = append(out, record[i])
		}
	}
	return bytes.TrimRight(out, "\n")
}
