package slot

import (
	"bytes"

	"pinion/runtime/logtext"
)

// callLogs holds what the model wrote while it had a call. Guarded by pool.mu.
type callLogs struct {
	text  logtext.Text
	lines [2]lineLength // of stdout and stderr
}

// addLogs passes text of the model on to the event sink, or keeps it while there is room.
func (c *Call) addLogs(source string, text []byte) {
	line := &c.logs.lines[0]
	if source == "stderr" {
		line = &c.logs.lines[1]
	}
	text = line.trim(text)
	if c.Events != nil {
		c.Events.Log(source, text)
		return
	}
	c.logs.text.Add(text)
}

// take returns the logs, with a notice about what was dropped.
func (l *callLogs) take() []byte {
	text := l.text.Bytes()
	l.text = logtext.Text{}
	return text
}

// lineLength is the length of a text's last line while that is incomplete. "\r" ends a line too: the next is written
// over it, as a progress bar's. Above logtext.MaxLine: the line was cut.
type lineLength int

// trim returns the next piece of the text with its long lines cut. It does not change text.
func (l *lineLength) trim(text []byte) []byte {
	if int(*l)+len(text) <= logtext.MaxLine {
		last := text[bytes.LastIndexByte(text, '\n')+1:]
		last = last[bytes.LastIndexByte(last, '\r')+1:]
		if len(last) < len(text) {
			*l = 0
		}
		*l += lineLength(len(last))
		return text
	}
	var trimmed []byte
	for len(text) > 0 {
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			return l.appendLine(trimmed, text)
		}
		trimmed = append(l.appendLine(trimmed, text[:end]), text[end])
		text, *l = text[end+1:], 0
	}
	return trimmed
}

// appendLine appends as much of the next piece of a line as there is room for.
func (l *lineLength) appendLine(trimmed, line []byte) []byte {
	room := logtext.MaxLine - int(*l)
	switch {
	case room < 0: // the line was cut before
	case len(line) <= room:
		trimmed = append(trimmed, line...)
		*l += lineLength(len(line))
	default:
		trimmed = append(append(trimmed, logtext.Head(line, room)...), logtext.LineNotice...)
		*l = logtext.MaxLine + 1
	}
	return trimmed
}
