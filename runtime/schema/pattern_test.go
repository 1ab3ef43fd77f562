package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

func TestPattern_Matches(t *testing.T) {
	for _, test := range []struct{ pattern, yes, no string }{ // texts, separated by |
		{`b`, "abc|b", "ac|"},
		{`^a$`, "a", "a\n|\na|ba"},
		{`\Aa\Z`, "a", "a\n"},
		{`^\d+$`, "0123", "٣|a"},
		{`^\w+$`, "aZ_9", "é|-"},
		{`^\W+$`, "é-", "a"},
		{`^\s$`, " |\t|\v|\u00a0|\u2028|\ufeff|\u3000", "a|\u200b|\u0085"},
		{`^[\s,]+$`, "\u00a0, ", "a"},
		{`^\S+$`, "aé\u200b", "a b|a\u00a0b"},
		{`^[^\s]+$`, "aé", "a\u00a0b"},
		{`^[\S]+$`, "aé", "\u00a0"},
		{`^[^\S]+$`, "\u00a0 ", "a"},
		{`^.$`, "a|é|😀|\r", "\n|ab"},
		{`(?s)^.$`, "\n", "ab"},
		{`(?i)^abc$`, "ABC|abc", "abd"},
		{`(?P<year>\d{4})-(?P=year)`, "2024-2024", "2024-2025"},
		{`(?<y>\d)\k<y>`, "11", "12"},
		{`(a)\1`, "aa", "ab"},
		{`^(?=.*\d)(?!.*x)(?<=^).{2,}(?<!z)$`, "a1", "ab|x1|1z"},
		{`^(?>a+)b`, "aab", "aaac"},
		{`^a++b$`, "aab", "aac"},
		{`\u00e9`, "é", "e"},
		{`^[\u0041-\u0043]$`, "B", "D"},
		{`^\u{1F600}$`, "😀", "a"},
		{`^\ud83d\ude00$`, "😀", "a"},
		{`^\U0001F600$`, "😀", "a"},
		{`^\x41$`, "A", "B"},
		{`^\cA$`, "\x01", "A"},
		{`^\0$`, "\x00", "0"},
		{`^[\b]$`, "\b", "b"},
		{`\bcat\b`, "a cat|cat", "cats"},
		{`^\/\-\_\"\ \#$`, `/-_" #`, "x"},
		{`^\p{Lu}$`, "É", "é"},
		{`^[]a]+$`, "]a", "b"},
		{`^[[:a]+$`, "[:a", "b"},
		{`^[[:alpha:]]$`, ":]|a]", "b"},
		{`^[^]]$`, "a", "]"},
		{`^a{,2}$`, "|a|aa", "aaa"},
		{`^a{,b$`, "a{,b", "a"},
		{`^a{2}b{1,}c{1,2}?$`, "aabc|aabbcc", "abc"},
		{`^a{b$`, "a{b", "a"},
		{`^a(?#comment)b$`, "ab", "a"},
		{`^(?:a|b)*?$`, "abab|", "c"},
		{`^a{0,1500}$`, strings.Repeat("a", 1500), strings.Repeat("a", 1501)},
		{`^é\.日$`, "é.日", "éx日"},
		{`^\é$`, "é", "e"},
		{`^\Q$`, "Q", ""},
		{`^\uZZ$`, "uZZ", "u"},
		{`^\x$`, "x", ""},
		{`^\u{}$`, "u{}", ""},
		{`^(?(?=a)ab|cd)$`, "ab|cd", "ad"},
		{``, "|a", ""},
	} {
		p, err := compilePattern(test.pattern)
		if err != nil {
			t.Errorf("%s: got %v, want no error", test.pattern, err)
			continue
		}
		assert.Equal(t, "String", p.String(), test.pattern)
		// Both engines must mean the same by what both can do.
		engines := map[string]*pattern{"chosen": p}
		if full, err := regexp2.Compile(translatePattern(test.pattern), regexp2.RE2); err != nil {
			t.Errorf("%s in regexp2: got %v, want no error", test.pattern, err)
		} else {
			engines["regexp2"] = &pattern{text: test.pattern, full: full}
		}
		for name, p := range engines {
			for want, texts := range map[bool]string{true: test.yes, false: test.no} {
				for text := range strings.SplitSeq(texts, "|") {
					if text == "" && !want && test.no == "" {
						continue
					}
					for _, raw := range []string{string(rawjson.AppendQuoted(nil, text)), escaped(text)} {
						got, err := p.match(inner([]byte(raw)))
						assert.True(t, got == want && err == nil, "%s: %s match(%s) = %v, %v, want %t", test.pattern, name, raw, got, err, want)
					}
				}
			}
		}
	}
}

func TestPattern_Refused(t *testing.T) {
	for _, text := range []string{`(`, `[a`, `a**`, `*a`, `(?P=`, `(?#`, `(?P<a`, `\`, `(?<=a`, `(?z)a`} {
		p, err := compilePattern(text)
		assert.True(t, err != nil, "compilePattern(%s) = %v: got no error, want an error", text, p)
	}
}

// TestPattern_Endless checks that a pattern that backtracks forever is given up, with an error.
func TestPattern_Endless(t *testing.T) {
	const endless = `^(?=(a+)+$)(a+)+$`
	p := assert.Must(compilePattern(endless))(t)
	text := strings.Repeat("a", 200) + "b"
	ok, err := p.match([]byte(text))
	assert.True(t, !ok && errors.Is(err, errPatternSlow), "match = %v, %v, want false and errPatternSlow", ok, err)
	assert.False(t, p.MatchString(text), "MatchString = true: p.MatchString(text) = true, want false")
	s := mustCompile(t, openapi(`{"properties":{"x":{"type":"string","pattern":"^(?=(a+)+$)(a+)+$"}}}`))
	_, problems := prepare(t, s, `{"x":"`+text+`"}`)
	assert.EqualNow(t, "number of problems", len(problems), 1)
	assert.Contains(t, "problems[0].Msg", problems[0].Msg, "takes too long to match")
}
