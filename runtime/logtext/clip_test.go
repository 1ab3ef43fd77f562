package logtext

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/tests/assert"
)

func TestClip_CutsBetweenCharacters(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", MaxShown)} {
		assert.Equal(t, "clipped text", Clip(text), text)
	}
	for _, c := range []string{"x", "é", "…", "😀", "\x80"} {
		for shift := range utf8.UTFMax {
			long := strings.Repeat("x", shift) + strings.Repeat(c, 1000)
			got := Clip(long)
			begin, cut := strings.CutSuffix(got, "…")
			assert.True(t, cut && strings.HasPrefix(long, begin) && len(begin) <= MaxShown && len(begin) >= MaxShown-utf8.UTFMax,
				"%d bytes of %q became %d, want the first %d to %d", len(long), c, len(got), MaxShown-utf8.UTFMax, MaxShown)
			assert.Equal(t, "a broken character in "+got, utf8.ValidString(long), utf8.ValidString(got))
		}
	}
}

func TestCuts_BetweenCharacters(t *testing.T) {
	const text = "aüß€😀"
	for n := range len(text) + 1 {
		assert.Equal(t, fmt.Sprintf("%d bytes", n), Head(text, n), string(Complete([]byte(text[:n]))))
		head, tail := Complete([]byte(text[:n])), Tail([]byte(text), n)
		assert.True(t, utf8.Valid(head) && utf8.Valid(tail) && len(head) >= n-utf8.UTFMax+1 && len(tail) >= n-utf8.UTFMax+1,
			"%d bytes: got %q and %q, want at least %d valid ones of each", n, head, tail, n-utf8.UTFMax+1)
	}
	for most, want := range map[int]string{0: "…", 2: "aü…", 5: text} {
		assert.Equal(t, fmt.Sprintf("%d characters", most), ClipRunes(text, most), want)
	}
	got := Complete([]byte("a\xff\xff"))
	assert.True(t, string(got) == "a\xff\xff", "got %q, want the bytes that begin no character", got)
	var kept Text
	kept.Add(make([]byte, Max-1))
	kept.Add([]byte("ü"))
	kept.Add([]byte("x"))
	got = kept.Bytes()[Max-1:]
	assert.True(t, utf8.Valid(got) && got[0] == '\n', "got %q, want the notice after the last whole character", got)
}
