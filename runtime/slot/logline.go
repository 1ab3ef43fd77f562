package slot

import (
	"bytes"
	"unicode/utf8"
)

// maxLine is how long a line of a call's logs may be, in bytes; what is beyond is dropped, and a word says so.
const maxLine = 4 << 20

const lineCut = " [cut: the line is longer than 4 MiB]"

// lineLength is how long the last line of a text is that is not complete; above maxLine: it was cut.
type lineLength int

// trim is the text that comes next, without what is too long of its lines. The text itself stays as it is.
func (l *lineLength) trim(text []byte) []byte {
	if int(*l)+len(text) <= maxLine {
		if end := bytes.LastIndexByte(text, '\n'); end >= 0 {
			*l = lineLength(len(text) - end - 1)
		} else {
			*l += lineLength(len(text))
		}
		return text
	}
	var kept []byte
	for len(text) > 0 {
		line, rest, complete := bytes.Cut(text, []byte{'\n'})
		kept = l.appendLine(kept, line)
		if complete {
			kept, *l = append(kept, '\n'), 0
		}
		text = rest
	}
	return kept
}

// appendLine appends what has room of a line that goes on.
func (l *lineLength) appendLine(kept, line []byte) []byte {
	room := maxLine - int(*l)
	switch {
	case room < 0: // it was cut before
	case len(line) <= room:
		kept = append(kept, line...)
		*l += lineLength(len(line))
	default:
		for room > 0 && !utf8.RuneStart(line[room]) {
			room--
		}
		kept = append(append(kept, line[:room]...), lineCut...)
		*l = maxLine + 1
	}
	return kept
}
