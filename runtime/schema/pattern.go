package schema

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"

	"pinion/runtime/rawjson"
)

// patternTimeout bounds a backtracking search. The library checks its clock about ten times a second.
const patternTimeout = 500 * time.Millisecond

// errPatternSlow means that a search exceeded patternTimeout.
var errPatternSlow = errors.New("the pattern took too long")

// pattern is the value of a pattern keyword. It matches anywhere in the text unless it is anchored.
//
// The syntax is that of Python's re or of ECMA-262. Where they differ in meaning: \d, \w and \b are ASCII (ECMA), \s is
// Unicode's space (ECMA), "." is anything but \n (Python), and "$" is the end of the text (ECMA). Go's regexp runs most
// patterns, in linear time and without allocations. The rest (lookaround, backreferences, atomic groups) runs in
// regexp2, which backtracks and is therefore bounded.
type pattern struct {
	text string // as in the schema
	fast *regexp.Regexp
	full *regexp2.Regexp
}

func compilePattern(text string) (*pattern, error) {
	syntax := translatePattern(text)
	if fast, err := regexp.Compile(syntax); err == nil {
		return &pattern{text: text, fast: fast}, nil
	}
	full, err := regexp2.Compile(syntax, regexp2.RE2)
	if err != nil {
		return nil, fmt.Errorf("compile pattern %q: %w", text, err)
	}
	full.MatchTimeout = patternTimeout
	return &pattern{text: text, full: full}, nil
}

// match searches the content of a string value, without its quotes. The error is errPatternSlow.
func (p *pattern) match(text []byte) (bool, error) {
	if p.fast != nil && bytes.IndexByte(text, '\\') < 0 {
		return p.fast.Match(text), nil
	}
	return p.matchString(rawjson.KeyText(text))
}

func (p *pattern) matchString(s string) (bool, error) {
	if p.fast != nil {
		return p.fast.MatchString(s), nil
	}
	ok, err := p.full.MatchString(s)
	if err != nil {
		return false, errPatternSlow
	}
	return ok, nil
}

// String and MatchString make a pattern a jsonschema.Regexp.
func (p *pattern) String() string { return p.text }

// MatchString is match for a plain string. A search that takes too long does not match.
func (p *pattern) MatchString(s string) bool {
	ok, err := p.matchString(s)
	return ok && err == nil
}

// translatePattern translates text to the syntax that Go's regexp and regexp2's RE2 mode share. They report the errors
// that it does not find.
func translatePattern(text string) string {
	t := translator{in: text}
	for t.i < len(t.in) {
		switch c := t.in[t.i]; {
		case c == '\\':
			t.escape(false)
		case c == '[':
			t.class()
		case strings.HasPrefix(t.in[t.i:], "(?#"): // a comment of Python
			end := strings.IndexByte(t.in[t.i:], ')')
			if end < 0 {
				t.put(len(t.in) - t.i)
				break
			}
			t.i += end + 1
		case strings.HasPrefix(t.in[t.i:], "(?P="): // Python's named backreference
			end := strings.IndexByte(t.in[t.i:], ')')
			if end < 0 {
				t.put(len(t.in) - t.i)
				break
			}
			t.out.WriteString(`\k<` + t.in[t.i+4:t.i+end] + `>`)
			t.i += end + 1
		case strings.HasPrefix(t.in[t.i:], "{,"): // Python's {,n}
			if isBound(t.in[t.i+2:]) {
				t.out.WriteString("{0,")
			} else {
				t.out.WriteString(`\{,`)
			}
			t.i += 2
		default:
			t.put(1)
		}
	}
	return t.out.String()
}

// translator is a pattern during its translation.
type translator struct {
	in  string
	i   int
	out strings.Builder
}

// put copies n bytes.
func (t *translator) put(n int) {
	t.out.WriteString(t.in[t.i : t.i+n])
	t.i += n
}

// space is ECMA-262's \s, and notSpace its complement, inside a bracket expression.
const (
	space = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

	notSpace = `\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
)

// class copies a bracket expression. "[" has no meaning inside one.
func (t *translator) class() {
	t.put(1)
	if t.at('^') {
		t.put(1)
	}
	if t.at(']') { // as the first character it is literal
		t.out.WriteString(`\]`)
		t.i++
	}
	for t.i < len(t.in) {
		switch t.in[t.i] {
		case ']':
			t.put(1)
			return
		case '[':
			t.out.WriteString(`\[`)
			t.i++
		case '\\':
			t.escape(true)
		default:
			t.put(1)
		}
	}
}

func (t *translator) at(c byte) bool { return t.i < len(t.in) && t.in[t.i] == c }

// escape copies the escape at the current position.
func (t *translator) escape(inClass bool) {
	if t.i+1 >= len(t.in) {
		t.put(1)
		return
	}
	c := t.in[t.i+1]
	switch {
	case c == 's' || c == 'S':
		set := space
		if c == 'S' {
			set = notSpace
		}
		if !inClass {
			set = "[" + set + "]"
		}
		t.out.WriteString(set)
	case c == 'b' && inClass:
		t.out.WriteString(`\x08`)
	case c == 'Z' && !inClass: // Python's end of the text
		t.out.WriteString(`\z`)
	case c == 'u' || c == 'U' || c == 'x':
		if t.codePoint(c) {
			return
		}
		t.out.WriteByte(c) // no digits: the letter itself, as in ECMA-262
	case c == 'c' && t.i+2 < len(t.in) && t.in[t.i+2]|0x20 >= 'a' && t.in[t.i+2]|0x20 <= 'z':
		fmt.Fprintf(&t.out, `\x%02x`, t.in[t.i+2]&0x1f)
		t.i++
	case c == '0':
		t.out.WriteString(`\x00`)
	case c >= '1' && c <= '9', strings.IndexByte("AdDwWbBnrtfvakpPz", c) >= 0:
		t.put(2)
		return
	case c|0x20 >= 'a' && c|0x20 <= 'z', c >= 0x80: // an unknown escape
		t.out.WriteByte(c)
	default:
		t.put(2)
		return
	}
	t.i += 2
}

// codePoint copies \uXXXX (two for a surrogate pair), \u{X…}, \UXXXXXXXX or \xXX.
func (t *translator) codePoint(c byte) bool {
	rest := t.in[t.i+2:]
	if c == 'u' && strings.HasPrefix(rest, "{") {
		end := strings.IndexByte(rest, '}')
		if end < 2 || !isHex(rest[1:end]) {
			return false
		}
		t.out.WriteString(`\x` + rest[:end+1])
		t.i += 2 + end + 1
		return true
	}
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if len(rest) < n || !isHex(rest[:n]) {
		return false
	}
	digits := rest[:n]
	t.i += 2 + n
	if n == 4 && len(rest) >= 10 && rest[4:6] == `\u` && isHex(rest[6:10]) {
		pair := rawjson.KeyText([]byte(`\u` + rest[:10]))
		if r := []rune(pair); len(r) == 1 && r[0] > 0xffff {
			digits = fmt.Sprintf("%x", r[0])
			t.i += 6
		}
	}
	t.out.WriteString(`\x{` + digits + `}`)
	return true
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// isBound reports whether s continues like "5}".
func isBound(s string) bool {
	n := strings.IndexByte(s, '}')
	return n > 0 && strings.Trim(s[:n], "0123456789") == ""
}
