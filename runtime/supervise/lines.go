package supervise

import "bytes"

// lines splits what a process writes into lines, and logs them as records.
type lines struct {
	source  source
	records recorder
	rest    []byte
}

func newLines(s source, note func(source, []byte)) *lines {
	return &lines{source: s, records: recorder{note: func(s source, _ string, text []byte) { note(s, text) }}}
}

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found && len(l.rest) < readSize {
			l.records.complete() // an idle process writes nothing more that would end a traceback
			return len(text), nil
		}
		l.records.line(l.source, "", line)
		l.rest = rest
	}
}

// end logs what came after the last whole line.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.records.line(l.source, "", l.rest)
		l.rest = nil
	}
	l.records.end()
}
