package rawjson

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestCutText_KeepsEscapesWhole: the pieces of a text, each unescaped alone, are the text, wherever the cuts fall.
func TestCutText_KeepsEscapesWhole(t *testing.T) {
	text := []byte(strings.Repeat(`a\nb\\\"\u00e9\ud83d\ude00é\ud83d\u0041`, 9))
	want := string(AppendText(nil, text))
	for n := 1; n <= len(text)+1; n++ {
		var got []byte
		for rest := text; len(rest) > 0; {
			at := CutText(rest, n)
			assert.TrueNow(t, at > 0 && at <= len(rest) && at < n+12, "cut after %d of about %d bytes, want 1 to %d", at, n, n+11)
			got, rest = AppendText(got, rest[:at]), rest[at:]
		}
		assert.Equal(t, "pieces of about the size", string(got), want)
	}
}
