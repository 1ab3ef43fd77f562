package supervise

import (
	"bytes"
	"context"
	"log/slog"

	"pinion/ipc"
	"pinion/runtime/logtext"
)

// tracebackState is which line of a traceback is expected next.
type tracebackState uint8

const (
	noTraceback      tracebackState = iota
	tracebackFrames                 // lines of frames, then the exception's own line
	tracebackGroup                  // lines of an exception group, all indented
	tracebackDone                   // after the exception's line; a blank line may lead to the next exception
	tracebackGap                    // that blank line
	tracebackLink                   // the sentence that joins two tracebacks
	tracebackLinkGap                // the blank line after it
)

// traceback collects the lines of one traceback, with those of the exceptions that it is chained to.
type traceback struct {
	state tracebackState
	text  []byte
	sure  int  // how much of text certainly belongs to the traceback
	grown bool // a line was added since the last recorder.settle
}

var (
	tracebackHead  = []byte("Traceback (most recent call last):")
	exceptionGroup = []byte("  + Exception Group Traceback (most recent call last):")
	tracebackLinks = [][]byte{
		[]byte("During handling of the above exception, another exception occurred:"),
		[]byte("The above exception was the direct cause of the following exception:"),
	}
)

// next returns the state after a line; noTraceback means that the line is not part of this traceback.
func (t *traceback) next(line []byte) tracebackState {
	line = bytes.TrimSuffix(line, []byte("\r"))
	blank := len(line) == 0
	indented := !blank && line[0] == ' '
	switch t.state {
	case noTraceback, tracebackLinkGap:
		// An unfinished line may precede it, such as a progress bar's.
		if bytes.HasSuffix(line, exceptionGroup) {
			return tracebackGroup
		}
		if bytes.HasSuffix(line, tracebackHead) {
			return tracebackFrames
		}
	case tracebackFrames:
		switch {
		case indented:
			return tracebackFrames
		case !blank && !bytes.Equal(line, tracebackHead):
			return tracebackDone
		}
	case tracebackGroup:
		if mark := bytes.TrimLeft(line, " "); indented && len(mark) > 0 && (mark[0] == '|' || mark[0] == '+') {
			return tracebackGroup
		}
		if blank {
			return tracebackGap
		}
	case tracebackDone:
		if blank {
			return tracebackGap
		}
	case tracebackGap:
		for _, link := range tracebackLinks {
			if bytes.Equal(line, link) {
				return tracebackLink
			}
		}
	case tracebackLink:
		if blank {
			return tracebackLinkGap
		}
	}
	return noTraceback
}

// add adds a line that leads to the state to.
func (t *traceback) add(line []byte, to tracebackState) {
	if t.state != noTraceback {
		t.text = append(t.text, '\n')
	}
	t.text = append(t.text, line...)
	if t.state, t.grown = to, true; to <= tracebackDone {
		t.sure = len(t.text)
	}
}

// recordKey says which lines may belong to one traceback.
type recordKey struct {
	source     source
	prediction string
}

// recorder makes records of lines: a traceback is one record, as is any other line.
type recorder struct {
	note noteFunc
	// draws means that the log is a terminal, which shows a line that has not ended.
	draws bool
	// pending holds the tracebacks whose end was not seen.
	pending map[recordKey]*traceback
}

// newRecorder returns a recorder that passes records to note, and drafts to log if that draws lines.
func newRecorder(log *slog.Logger, note noteFunc) recorder {
	return recorder{note: note, draws: log.Enabled(context.Background(), logtext.LevelDraft)}
}

// record logs a text that is one record, and what was held back of the same key before it.
func (r *recorder) record(key recordKey, text []byte, about ipc.LogRecord) {
	r.flush(key)
	level := slog.LevelDebug
	switch {
	case about.Level >= 40:
		level = slog.LevelError
	case about.Level >= 30:
		level = slog.LevelWarn
	case about.Level >= 20:
		level = slog.LevelInfo
	}
	var more []any
	if about.Logger != "" {
		more = []any{"logger", about.Logger}
	}
	r.note(level, key.source, key.prediction, bytes.TrimSuffix(text, newline), more...)
}

func (r *recorder) line(s source, prediction string, line []byte) {
	key := recordKey{s, prediction}
	t := r.pending[key]
	if t != nil {
		to := t.next(line)
		if to != noTraceback && len(t.text)+len(line) < logtext.MaxLine {
			t.add(line, to)
			return
		}
		r.flush(key)
	}
	var none traceback // most lines begin no traceback, and need no memory
	to := none.next(line)
	if to == noTraceback {
		r.note(slog.LevelInfo, s, prediction, line)
		return
	}
	t = &traceback{}
	t.add(line, to)
	if r.pending == nil {
		r.pending = map[recordKey]*traceback{}
	}
	r.pending[key] = t
}

// flush logs the pending lines of a key. Lines that are not certain to belong to the traceback become records.
func (r *recorder) flush(key recordKey) {
	t := r.pending[key]
	if t == nil {
		return
	}
	delete(r.pending, key)
	r.note(slog.LevelError, key.source, key.prediction, t.text[:t.sure])
	if rest := t.text[t.sure:]; len(rest) > 0 {
		for line := range bytes.SplitSeq(rest[1:], []byte("\n")) {
			r.note(slog.LevelInfo, key.source, key.prediction, line)
		}
	}
}

// settle logs the tracebacks that have not grown since the last call, and reports whether others are pending.
func (r *recorder) settle() (pending bool) {
	for key, t := range r.pending {
		if t.grown {
			t.grown = false
		} else {
			r.flush(key)
		}
	}
	return len(r.pending) > 0
}

// complete logs the tracebacks whose exception is known.
func (r *recorder) complete() {
	for key, t := range r.pending {
		if t.state >= tracebackGroup {
			r.flush(key)
		}
	}
}

func (r *recorder) end() {
	for key := range r.pending {
		r.flush(key)
	}
}
