package slot

import (
	"bytes"
	"strings"
	"testing"

	"pinion/runtime/logtext"
)

// TestLogs_LongLinesAreCut: in any pieces; the text after them is complete.
func TestLogs_LongLinesAreCut(t *testing.T) {
	long := strings.Repeat("0123", logtext.MaxLine/4)
	for _, c := range []struct{ text, want string }{
		{"a\nb", "a\nb"},
		{long + "\n" + long, long + "\n" + long},
		{long + "x\nshort\n", long + logtext.LineNotice + "\nshort\n"},
		{
			"x" + long + "\n\n" + long + "yz",
			"x" + long[:logtext.MaxLine-1] + logtext.LineNotice + "\n\n" + long + logtext.LineNotice,
		},
	} {
		for _, piece := range []int{len(c.text), logtext.MaxLine + 1, logtext.MaxLine, 99_991} {
			var line lineLength
			var got []byte
			for text := []byte(c.text); len(text) > 0; {
				n := min(piece, len(text))
				got = append(got, line.trim(text[:n])...)
				text = text[n:]
			}
			if want := []byte(c.want); !bytes.Equal(got, want) {
				t.Errorf("%d bytes in pieces of %d: got %d bytes ending in %.60q, want %d ending in %.60q",
					len(c.text), piece, len(got), got[max(0, len(got)-60):], len(want), want[max(0, len(want)-60):])
			}
		}
	}
	var line lineLength
	if got := line.trim([]byte(long[1:] + "é")); string(got) != long[1:]+logtext.LineNotice {
		t.Errorf("half a character is left: %.50q: got %.300q, want %q", got[len(got)-50:], string(got),
			long[1:]+logtext.LineNotice)
	}
}
