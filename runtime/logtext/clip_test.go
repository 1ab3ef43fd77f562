package logtext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", MaxShown)} {
		if got := Clip(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, c := range []string{"x", "é", "…", "😀", "\x80"} {
		for shift := range utf8.UTFMax {
			long := strings.Repeat("x", shift) + strings.Repeat(c, 1000)
			got := Clip(long)
			begin, cut := strings.CutSuffix(got, "…")
			if !cut || !strings.HasPrefix(long, begin) || len(begin) > MaxShown || len(begin) < MaxShown-utf8.UTFMax {
				t.Errorf("%d bytes of %q became %d", len(long), c, len(got))
			}
			if utf8.ValidString(long) != utf8.ValidString(got) {
				t.Errorf("a character of %q was broken", got)
			}
		}
	}
}
