package slot

import (
	"bytes"
	"strings"
	"testing"
)

// TestLongLinesAreCut, in whatever pieces they come, and what follows them is not.
func TestLongLinesAreCut(t *testing.T) {
	long := strings.Repeat("0123", maxLine/4)
	for _, c := range []struct{ text, want string }{
		{"a\nb", "a\nb"},
		{long + "\n" + long, long + "\n" + long},
		{long + "x\nshort\n", long + lineCut + "\nshort\n"},
		{"x" + long + "\n\n" + long + "yz", "x" + long[:maxLine-1] + lineCut + "\n\n" + long + lineCut},
	} {
		for _, piece := range []int{len(c.text), maxLine + 1, maxLine, 99_991} {
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
	if got := line.trim([]byte(long[1:] + "é")); string(got) != long[1:]+lineCut {
		t.Errorf("half a character is left: %.50q", got[len(got)-50:])
	}
}
