package openai

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// FuzzStopper: items pass on the text before the first stop sequence, as a plain search in the text finds it, and take
// no more than two steps for each byte of text and sequence, and for each byte of a sequence.
func FuzzStopper(f *testing.F) {
	f.Add("abcabd", "abd", "", 2)
	f.Add(strings.Repeat("a", 300), strings.Repeat("a", 100)+"z", strings.Repeat("a", 50)+"1"+strings.Repeat("a", 99), 1)
	f.Add(strings.Repeat("ab", 100)+"abb", "abb", "babb", 3)
	f.Add("the END", "END", "E", 1)
	f.Fuzz(func(t *testing.T, whole, one, other string, size int) {
		if !utf8.ValidString(whole) || !utf8.ValidString(one) || !utf8.ValidString(other) || one == "" || size < 1 {
			t.Skip()
		}
		stops := []string{one}
		if other != "" {
			stops = append(stops, other)
		}
		r := &Request{}
		r.setStop(stops)
		stop, got, fed, ended := r.newStopper(), "", "", false
		take := func(list []next) {
			for _, n := range list {
				if n.cut {
					got += n.text
				} else {
					got += rawjson.Text(n.item)
				}
			}
		}
		for rest := []rune(whole); len(rest) > 0 && !ended; rest = rest[min(size, len(rest)):] {
			part := string(rest[:min(size, len(rest))])
			fed += part
			var out []next
			out, ended = stop.add(rawjson.AppendQuoted(nil, part))
			take(out)
		}
		if ended {
			out, _ := stop.add([]byte(`"more"`))
			take(out) // nothing follows
		}
		take(stop.flush())

		want, found := fed, ""
		for _, s := range stops {
			if before, _, ok := strings.Cut(fed, s); ok && len(before) < len(want) {
				want, found = before, s
			}
		}
		assert.Equal(t, "text", got, want)
		assert.Equal(t, "the sequence", stop.found, found)
		text, sequences := len(fed), len(one)+len(other)
		assert.True(t, stop.match.steps <= 2*len(stops)*text, "got %d steps for %d bytes and %d sequences, want at most %d",
			stop.match.steps, text, len(stops), 2*len(stops)*text)
		assert.True(t, r.stops.steps <= 2*sequences, "got %d steps for %d bytes of sequences, want at most %d", r.stops.steps,
			sequences, 2*sequences)
	})
}
