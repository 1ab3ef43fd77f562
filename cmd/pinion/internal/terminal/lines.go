package terminal

import "bytes"

// Lines writes text that comes in pieces above the progress of a screen. A line that has not ended is shown as a draft.
type Lines struct {
	screen *Screen
	rest   []byte
}

func NewLines(s *Screen) *Lines { return &Lines{screen: s} }

func (l *Lines) Add(text string) {
	l.rest = append(l.rest, text...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end > 0 {
		_, _ = l.screen.Write(l.rest[:end]) // a terminal that is gone ends the command by its own signal
		l.rest = append(l.rest[:0], l.rest[end:]...)
	}
	if len(l.rest) > 0 {
		l.screen.Draft(l.rest)
	}
}

// Finish ends the last line.
func (l *Lines) Finish() {
	if len(l.rest) > 0 {
		l.Add("\n")
	}
}
