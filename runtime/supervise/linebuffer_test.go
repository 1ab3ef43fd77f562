package supervise

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

// buffered feeds a lineBuffer pieces of text and collects its records. A piece "+" lets more than lineDelay pass.
func buffered(draws bool, pieces ...string) (records, drafts []string) {
	r := recorder{draws: draws, note: func(level slog.Level, _ source, _ string, line []byte, _ ...any) {
		to := &records
		if level == logtext.LevelDraft {
			to = &drafts
		}
		*to = append(*to, string(line))
	}}
	var b lineBuffer
	for _, piece := range pieces {
		if piece == "+" {
			b.settle(&r, recordKey{}, b.since.Add(lineDelay))
			b.logged = time.Time{}
			continue
		}
		b.add(&r, recordKey{}, []byte(piece))
		if draws {
			b.settle(&r, recordKey{}, time.Now())
		}
	}
	b.flush(&r, recordKey{})
	r.end()
	return records, drafts
}

func TestLineBuffer_Records(t *testing.T) {
	for name, c := range map[string]struct{ pieces, want []string }{
		"whole lines":      {[]string{"a\nb", "c\n\n"}, []string{"a", "bc", ""}},
		"lines of Windows": {[]string{"a\r\nb\r", "\n\r\n"}, []string{"a", "b", ""}},
		"a fast bar":       {[]string{"\r 0%", "\r 1%", "\r 2%", "\r100%\n", "next\n"}, []string{" 0%", "100%", "next"}},
		"a bar with time": {
			[]string{"\r 0%", "\r 1%", "+", "\r 2%", "\r 3%", "\r100%\n"},
			[]string{" 0%", " 1%", " 2%", "100%"},
		},
		"a bar that stops":   {[]string{"\r 0%", "\r 1%", "\r 2%", "+", "\n", "next\n"}, []string{" 0%", " 2%", "next"}},
		"returns at the end": {[]string{"1%\r", "2%\r", "+", "3%\r", "done\n"}, []string{"2%", "done"}},
		"an erased bar":      {[]string{"\r 0%", "\r     \r", "next\n"}, []string{" 0%", "next"}},
		"erased by a code":   {[]string{"\r\x1b[K 0%", "\r\x1b[K", "next\n"}, []string{" 0%", "next"}},
		"nested bars": {
			[]string{"outer\n\r 0%\x1b[A", "\n\r 1%\x1b[A", "\n\r 2%\x1b[A", "\n\r 3%\n"},
			[]string{"outer", " 0%", " 3%"},
		},
		"a question":       {[]string{"loading...", "+", " ok\n", "x\n"}, []string{"loading...", " ok", "x"}},
		"an end alone":     {[]string{"loading...", "+", "\n", "\n"}, []string{"loading...", ""}},
		"half a character": {[]string{"gr\xc3", "+", "\xbc\xc3\x9fe\n"}, []string{"gr", "üße"}},
		"indentation":      {[]string{"    ", "+", "x\n"}, []string{"    x"}},
		"no end at all":    {[]string{"a\nb"}, []string{"a", "b"}},
		"a traceback below": {
			[]string{"\r 5%|x", "\r 6%Traceback (most recent call last):\n  File\nE: x\n"},
			[]string{" 5%|x", " 6%Traceback (most recent call last):\n  File\nE: x"},
		},
		"the rest of a long bar": {[]string{strings.Repeat("\r=", 3) + "\n"}, []string{"=", "="}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := buffered(false, c.pieces...)
			assert.EqualSlices(t, fmt.Sprintf("%q", c.pieces), got, c.want)
		})
	}
}

func TestLineBuffer_DraftsOnTerminal(t *testing.T) {
	records, drafts := buffered(true, "load", "ing", " ok\n", "\r 1%", "\r 2%", "\r 3%\n")
	assert.EqualSlices(t, "records", records, []string{"loading ok", " 3%"})
	assert.EqualSlices(t, "drafts", drafts, []string{"load", "loading", " 1%", " 2%"})
}

// TestLineBuffer_MemoryOfALongLine: a long line leaves no large buffer behind, however it ended.
func TestLineBuffer_MemoryOfALongLine(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, pieces := range map[string][]string{
		"a line":           {long, long, "\n", "next\n"},
		"its end":          {"x", long + "\n"},
		"rewritten":        {long, "\r", "next\r"},
		"an erased bar":    {long + "\r", "\r \r", "next\n"},
		"a bar that ends":  {long + "\r", "\n"},
		"nested bars":      {long, "\x1b[A\n", "1%\x1b[A\n", "2%\n"},
		"too long":         {long, long, long, long, "next"},
		"without an end":   {long, "+"},
		"half a character": {long + "\xc3", "+"},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorder{note: func(slog.Level, source, string, []byte, ...any) {}}
			var b lineBuffer
			for _, piece := range pieces {
				if piece == "+" {
					b.settle(&r, recordKey{}, b.since.Add(lineDelay))
				} else {
					b.add(&r, recordKey{}, []byte(piece))
				}
			}
			got := max(cap(b.text), cap(b.bar))
			assert.True(t, got <= reusedLine, "got a buffer of %d bytes, want %d at most", got, reusedLine)
		})
	}
}

// TestLogs_TextWithoutEnd: the server's log gets a line that has no end, of each kind of text.
func TestLogs_TextWithoutEnd(t *testing.T) {
	p := newPiped(t)
	p.runs = "p1"
	p.write(stdout, "loading...")
	p.Logged(stderr, "p2", []byte("\r 5%"), nil)
	unattributed := newLines(stdout, recorder{note: p.note})
	defer unattributed.end()
	_, _ = unattributed.Write([]byte("waiting"))
	for _, want := range []string{"stdout p1 loading...", "stderr p2  5%", "stdout  waiting"} {
		assert.Eventually(t, want, func() bool { return slices.Contains(p.logged(), want) })
	}
}

func TestLogs_SetupTextBeforeItsEnd(t *testing.T) {
	p := newPiped(t)
	p.write(stdout, "loading...")
	assert.Eventually(t, "the text", func() bool { return p.SetupText(true) == "loading..." })
	p.takeSetup(p.written)
	p.write(stdout, "later")
	assert.Equal(t, "setup text", p.SetupText(false), "loading...")
}
