package schema

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

func TestText_Length(t *testing.T) {
	for _, text := range []string{"", "a", "é", "😀", "日本語", "\n", `"\`, "a\x00b", strings.Repeat("xé😀\t", 30)} {
		for _, raw := range []string{string(rawjson.AppendQuoted(nil, text)), escaped(text)} {
			assert.Equal(t, "length("+raw, length(inner([]byte(raw))), utf8.RuneCountInString(text))
		}
	}
	got := inner([]byte(`"`))
	assert.True(t, got == nil, "inner of half a string: got %.300q, want nil", got)
}

// escaped writes text with nothing but \u escapes.
func escaped(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	put := func(u rune) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(digits[u>>shift&15])
		}
	}
	b.WriteByte('"')
	for _, r := range text {
		if r >= 0x10000 {
			put(0xD800 + (r-0x10000)>>10)
			r = 0xDC00 + (r-0x10000)&0x3FF
		}
		put(r)
	}
	b.WriteByte('"')
	return b.String()
}

// TestText_Show checks that messages show 200 characters and no more, for any kind and however
// large the value is.
func TestText_Show(t *testing.T) {
	for _, c := range []string{"a", "é", "😀", "\n", `\`} {
		width := utf8.RuneCount(rawjson.AppendQuoted(nil, c)) - 2 // as shown
		fits := (maxShown - 2) / width
		for _, n := range []int{0, 1, fits - 1, fits, fits + 1, 300, 5000} {
			text := strings.Repeat(c, n)
			for _, raw := range []string{string(rawjson.AppendQuoted(nil, text)), escaped(text)} {
				got := show([]byte(raw))
				want := string(rawjson.AppendQuoted(nil, text))
				if r := []rune(want); len(r) > maxShown {
					want = string(r[:maxShown]) + "…"
				}
				assert.EqualNow(t, fmt.Sprintf("show(%q × %d)", c, n), got, want)
			}
		}
	}
	for raw, want := range map[string]string{
		"[ 1 ,\n{ \"a b\" :\tnull } ]": `[1,{"a b":null}]`,
		`{"\u0061":"\/"}`:              `{"a":"/"}`,
		strings.Repeat("1", 200):       strings.Repeat("1", 200),
		strings.Repeat("1", 201):       strings.Repeat("1", 200) + "…",
	} {
		assert.Equal(t, "show("+raw, show([]byte(raw)), want)
	}
	list := "[" + strings.Repeat(`"é",`, 100) + "1]"
	assert.Equal(t, "show("+list, show([]byte(list)), list[:len(`[`)+len(`"é",`)*49+len(`"é"`)]+"…")
}
