package slot

import (
	"bytes"
	"unicode/utf8"

	"pinion/runtime/logtext"
)

// callLogs is what the model wrote while it had a call. Guarded by pool.mu.
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

// lineLength is the length of a text's last line while that is incomplete. Above logtext.MaxLine: the line was cut.
type lineLength int

// trim returns the next piece of the text without what its lines have too much. It does not change text.
func (l *lineLength) trim(text []byte) []byte {
	if int(*l)+len(text) <= logtext.MaxLine {
		if end := bytes.LastIndexByte(text, '\n'); end >= 0 {
			*l = lineLength(len(text) - end - 1)
		} else {
			*l += lineLength(len(text))
		}
		return text
	}
	var trimmed []byte
	for len(text) > 0 {
		line, rest, complete := bytes.Cut(text, []byte{'\n'})
		trimmed = l.appendLine(trimmed, line)
		if complete {
			trimmed, *l = append(trimmed, '\n'), 0
		}
		text = rest
	}
	return trimmed
}

// appendLine appends as much of the next piece of a line as there is room for.
func (l *lineLength) appendLine(trimmed, line []byte) []byte {
	room := logtext.MaxLine - int(*l)
	switch {
	case room < 0: // it was cut before
	case len(line) <= room:
		trimmed = append(trimmed, line...)
		*l += lineLength(len(line))
	default:
		for room > 0 && !utf8.RuneStart(line[room]) {
			room--
		}
		trimmed = append(append(trimmed, line[:room]...), logtext.LineNotice...)
		*l = logtext.MaxLine + 1
	}
	return trimmed
}
