package supervise

import (
	"bytes"
	"time"

	"pinion/runtime/logtext"
)

// lineDelay is how long a line without its end is held back, and the time between two records of a line that is
// rewritten.
const lineDelay = time.Second

// reusedLine is the largest size at which the memory of a line is kept for the next: a line may have logtext.MaxLine,
// and a worker has a buffer for each of its pipes as long as it lives.
const reusedLine = 64 << 10

var (
	newline        = []byte("\n")
	carriageReturn = []byte("\r")
	cursorUp       = []byte("\x1b[A")
	eraseLine      = []byte("\x1b[K")
)

// lineBuffer cuts a text into lines. "\n" ends a line. "\r" ends one that the next line overwrites, such as a progress
// bar's: the log has at most one of those in lineDelay. Text without an end is logged after lineDelay. The zero value
// is empty.
type lineBuffer struct {
	text   []byte    // of the line that has not ended
	bar    []byte    // the last line that "\r" ended, unless it was logged
	since  time.Time // when the first of text, or the last of bar, came
	logged time.Time // when a line without its end, or a rewritten one, was last logged
	again  bool      // a part of this line was logged, so its end alone is not a record
	fresh  bool      // it has changed since it was last drawn
	limit  int       // the longest line; 0 means logtext.MaxLine
}

// add adds text, and logs the lines that it ends.
func (b *lineBuffer) add(r *recorder, key recordKey, text []byte) {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, newline)
		for {
			before, after, rewritten := bytes.Cut(line, carriageReturn)
			if !rewritten {
				break
			}
			b.rewrite(before)
			if len(after) > 0 { // otherwise "\n" may follow, which is the end then
				b.logBar(r, key, time.Now())
			}
			line = after
		}
		if ended {
			b.end(r, key, line)
		} else if len(line) > 0 {
			b.extend(r, key, line)
		}
		text = rest
	}
}

// rewrite adds the rest of a line that the next one overwrites.
func (b *lineBuffer) rewrite(rest []byte) {
	b.text = append(b.text, rest...)
	if line := visible(b.text); len(line) > 0 {
		b.bar, b.fresh, b.since = append(emptied(b.bar), line...), true, time.Now()
	}
	b.text = emptied(b.text)
}

// end adds the rest of a line and logs it.
func (b *lineBuffer) end(r *recorder, key recordKey, line []byte) {
	if len(b.text) > 0 {
		b.text = append(b.text, line...)
		line = b.text
	}
	if above, moves := bytes.CutSuffix(line, cursorUp); moves { // the second of two bars: it comes back to the first
		b.text = b.text[:0]
		b.rewrite(above)
		b.logBar(r, key, time.Now())
		return
	}
	if len(line) == 0 {
		line = b.bar
	}
	if len(line) > 0 || !b.again {
		r.line(key.source, key.prediction, withoutMoves(line))
	}
	b.text, b.bar, b.again, b.fresh = emptied(b.text), emptied(b.bar), false, false
}

// extend adds more of a line. A line that is too long is logged in pieces.
func (b *lineBuffer) extend(r *recorder, key recordKey, more []byte) {
	if len(b.text) == 0 {
		b.since = time.Now()
	}
	b.text, b.fresh = append(b.text, more...), true
	if b.limit > 0 && len(b.text) >= b.limit {
		b.logText(r, key)
	} else if len(b.text) >= logtext.MaxLine {
		b.text = append(logtext.Complete(b.text), logtext.LineNotice...)
		b.logText(r, key)
	}
}

// logText logs an unfinished line, up to its last whole character.
func (b *lineBuffer) logText(r *recorder, key recordKey) {
	whole := logtext.Complete(b.text)
	r.line(key.source, key.prediction, withoutMoves(whole))
	b.text = append(emptied(b.text), b.text[len(whole):]...)
	b.bar, b.again = emptied(b.bar), true
}

// logBar logs the last rewritten line, if it is time for one; waits means that it is too early. A log that draws lines
// needs none.
func (b *lineBuffer) logBar(r *recorder, key recordKey, now time.Time) (waits bool) {
	if len(b.bar) == 0 || r.draws {
		return false
	}
	if now.Sub(b.logged) < lineDelay {
		return true
	}
	r.line(key.source, key.prediction, b.bar)
	b.bar, b.logged, b.again = emptied(b.bar), now, true
	return false
}

// settle logs or draws what was held back for long enough; waits means that more is held back.
func (b *lineBuffer) settle(r *recorder, key recordKey, now time.Time) (waits bool) {
	line := visible(logtext.Complete(b.text))
	switch {
	case r.draws:
		b.draw(r, key, line)
		return false
	case len(line) == 0:
		return b.logBar(r, key, now)
	case now.Sub(b.since) < lineDelay:
		return true
	}
	b.logText(r, key)
	b.logged, b.since = now, now
	return false
}

func (b *lineBuffer) draw(r *recorder, key recordKey, line []byte) {
	if len(line) == 0 {
		line = b.bar
	}
	if b.fresh && len(line) > 0 {
		r.note(logtext.LevelDraft, key.source, key.prediction, line)
	}
	b.fresh = false
}

// emptied returns the memory of a line for the next one, or nil if the line was long.
func emptied(line []byte) []byte {
	if cap(line) > reusedLine {
		return nil
	}
	return line[:0]
}

// holds reports whether something is held back.
func (b *lineBuffer) holds() bool { return len(b.text)+len(b.bar) > 0 }

// flush logs what is held back, at the end of the text.
func (b *lineBuffer) flush(r *recorder, key recordKey) {
	if b.holds() {
		b.end(r, key, nil)
	}
	b.again = false
}

// visible returns a line without the cursor movements around it, or nil if it shows nothing.
func visible(line []byte) []byte {
	line = withoutMoves(line)
	if len(bytes.TrimLeft(line, " ")) == 0 {
		return nil
	}
	return line
}

func withoutMoves(line []byte) []byte {
	for n := -1; n != len(line); {
		n = len(line)
		for _, move := range [...][]byte{cursorUp, eraseLine} {
			line = bytes.TrimSuffix(bytes.TrimPrefix(line, move), move)
		}
	}
	return line
}
