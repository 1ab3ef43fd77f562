package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/tests/assert"
)

// strict returns what Check must say, by way of the standard library and plain loops.
func strict(b []byte) bool {
	return json.Valid(b) && utf8.Valid(b) && depth(b) <= MaxDepth && !unpairedSurrogate(b) && !outOfRange(b)
}

func depth(b []byte) int {
	deepest, open := 0, 0
	inString := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			open++
			deepest = max(deepest, open)
		case c == ']' || c == '}':
			open--
		}
	}
	return deepest
}

// outOfRange reports whether a valid document has a number with a fraction or an exponent that no double can hold.
func outOfRange(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		number, ok := token.(json.Number)
		if _, err := number.Float64(); ok && err != nil && strings.ContainsAny(number.String(), ".eE") {
			return true
		}
	}
}

// unpairedSurrogate looks at each run of \u escapes of a valid document as UTF-16.
func unpairedSurrogate(b []byte) bool {
	high := false // the escape before was a high surrogate
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && b[i+1] == 'u' {
			digits := strings.ToLower(string(b[i+2 : i+6]))
			isHigh := digits[0] == 'd' && digits[1] >= '8' && digits[1] <= 'b'
			isLow := digits[0] == 'd' && digits[1] >= 'c'
			if isLow != high {
				return true
			}
			high = isHigh
			i += 5
			continue
		}
		if high {
			return true
		}
		if b[i] == '\\' {
			i++
		}
	}
	return high
}

func TestCheck_Documents(t *testing.T) {
	tests := []struct {
		in     string
		offset int
		reason string
	}{
		{`{}`, 0, ""},
		{`[]`, 0, ""},
		{" \t\r\n1 \t\r\n", 0, ""},
		{`"é\u00e9\ud83d\ude00😀\"\\\/\b\f\n\r\t"`, 0, ""},
		{`{"a":[1,2.5,-0,1e9,1E-9,0.0e+0,true,false,null,{"b":""}],"a":1}`, 0, ""},
		{"\"\x7f\"", 0, ""},
		{``, 0, reasonEnd},
		{` `, 1, reasonEnd},
		{"\xef\xbb\xbf{}", 0, reasonBOM},
		{`{} {}`, 3, reasonTail},
		{`{},`, 2, reasonTail},
		{"1\x00", 1, reasonTail},
		{`[1,]`, 3, reasonChar},
		{`[,1]`, 1, reasonChar},
		{`[1 2]`, 3, reasonChar},
		{`[1}`, 2, reasonChar},
		{`{"a":1]`, 6, reasonChar},
		{`{"a":1,}`, 7, reasonChar},
		{`{"a",1}`, 4, reasonChar},
		{`{a:1}`, 1, reasonChar},
		{`{"a":}`, 5, reasonChar},
		{`{"a"`, 4, reasonEnd},
		{`{"a":`, 5, reasonEnd},
		{`{"a":1`, 6, reasonEnd},
		{`{"a":1,`, 7, reasonEnd},
		{`{`, 1, reasonEnd},
		{`[`, 1, reasonEnd},
		{`[1,`, 3, reasonEnd},
		{`nul`, 3, reasonEnd},
		{`nule`, 3, reasonChar},
		{`True`, 0, reasonChar},
		{`NaN`, 0, "NaN is not valid JSON"},
		{`Infinity`, 0, "Infinity is not valid JSON"},
		{`'a'`, 0, reasonChar},
		{`+1`, 0, reasonChar},
		{`01`, 1, reasonNumber},
		{`-`, 1, reasonEnd},
		{`-a`, 1, reasonNumber},
		{`[-Infinity]`, 2, "Infinity is not valid JSON"},
		{`-01`, 2, reasonNumber},
		{`1.`, 2, reasonEnd},
		{`1.e1`, 2, reasonNumber},
		{`.5`, 0, reasonChar},
		{`1e`, 2, reasonEnd},
		{`1e+`, 3, reasonEnd},
		{`1e+x`, 3, reasonNumber},
		{`0x10`, 1, reasonTail},
		{`1e308`, 0, ""},
		{`[-1.7976931348623157e308]`, 0, ""},
		{`1e-400`, 0, ""},
		{`0e999999`, 0, ""},
		{`0.` + strings.Repeat("0", 400) + `1e+700`, 0, ""},
		{strings.Repeat("9", 400), 0, ""}, // a whole number is not a double
		{`1e309`, 0, reasonRange},
		{`{"n":` + strings.Repeat("9", maxDigits+1) + `}`, 5, reasonDigits},
		{`[1,-` + strings.Repeat("9", maxDigits+1) + `]`, 3, reasonDigits},
		{`{"a":-1E+400}`, 5, reasonRange},
		{`[1,2.5e99999999999999999999]`, 3, reasonRange},
		{strings.Repeat("9", 309) + ".5", 0, reasonRange},
		{strings.Repeat("9", 250) + "e99", 0, reasonRange},
		{`"abc`, 4, reasonEnd},
		{`"abcdefghijk`, 12, reasonEnd},
		{`"a\`, 3, reasonEnd},
		{`"\x41"`, 2, reasonEscape},
		{`"\u12g4"`, 5, reasonEscape},
		{`"\u12`, 5, reasonEnd},
		{`"\ud800"`, 1, reasonSurrogate},
		{`"\ud800\n"`, 1, reasonSurrogate},
		{`"\ud800\u0041"`, 1, reasonSurrogate},
		{`"\ud800\ud800"`, 1, reasonSurrogate},
		{`"\udc00"`, 1, reasonSurrogate},
		{`"\ud800\u12x4"`, 11, reasonEscape},
		{"\"a\nb\"", 2, reasonControl},
		{"\"abcdefghijklmnopqrstuvwxyz0123456789\x1f\"", 37, reasonControl},
		{"\"\xff\"", 1, reasonUTF8},
		{"\"\xc3\"", 1, reasonUTF8},
		{"\"\xc0\x80\"", 1, reasonUTF8},
		{"\"\xed\xa0\x80\"", 1, reasonUTF8},      // a surrogate in UTF-8
		{"\"é\xf4\x90\x80\x80\"", 3, reasonUTF8}, // above U+10FFFF
		{"{\"\xff\":1}", 2, reasonUTF8},
		{"\"é\xff\\x\"", 3, reasonUTF8}, // the first fault is reported
		{"\"é\xff\n\"", 3, reasonUTF8},
		{"\"é\\x\xff\"", 4, reasonEscape},
		{"\"é\n\xff\"", 3, reasonControl},
		{"\"é\xff", 3, reasonUTF8},
		{"\"0123456789é0123456789\xff0123456789\"", 23, reasonUTF8},
		{strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), 0, ""},
		{strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), MaxDepth, reasonDepth},
		{strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth), 0, ""},
		{strings.Repeat(`{"a":`, MaxDepth+1), 5 * MaxDepth, reasonDepth},
		{strings.Repeat("[", 1<<20), MaxDepth, reasonDepth},
	}
	for _, test := range tests {
		name := test.in
		if len(name) > 40 {
			name = name[:40]
		}
		err := Check([]byte(test.in))
		assert.False(t, test.reason != reasonDigits && (err == nil) != strict([]byte(test.in)),
			"Check(%q) = %v, and the oracle disagrees, want %t", name, err, strict([]byte(test.in)))
		if test.reason == "" {
			assert.True(t, err == nil, "Check(%q) = %v, want nil", name, err)
			continue
		}
		var syntax *SyntaxError
		assert.True(t, errors.As(err, &syntax) && syntax.Offset == test.offset && syntax.Reason == test.reason,
			"Check(%q) = %v, want byte %d: %s", name, err, test.offset, test.reason)
	}
}

// TestCheck_Alignment puts every single byte and some longer things at every place of a long
// string, so that each meets each position of the word loops.
func TestCheck_Alignment(t *testing.T) {
	pieces := []string{`\"`, `\\`, `\u00e9`, `\ud83d\ude00`, "é", "語", "😀", `\ud83d`, "\xed\xa0\x80", "\xe8\xaa"}
	for c := range 256 {
		pieces = append(pieces, string([]byte{byte(c)}))
	}
	for length := range 70 {
		for _, piece := range pieces {
			for _, at := range []int{0, length / 2, length} {
				doc := []byte(`"` + strings.Repeat("x", at) + piece + strings.Repeat("y", length-at) + `"`)
				err := Check(doc)
				assert.TrueNow(t, (err == nil) == strict(doc), "Check(%q) = %v, and the oracle disagrees, want %t", doc, err, strict(doc))
			}
		}
	}
}

// TestCheck_Cut cuts a good document at every place: no part of it is a document.
func TestCheck_Cut(t *testing.T) {
	doc := []byte(`{"a":[1,-2.5e+10,"é\ud83d\ude00\n",true,false,null,{}],"bcdefghijklmnop":"😀"}`)
	for n := range doc {
		var syntax *SyntaxError
		if err := Check(doc[:n]); !errors.As(err, &syntax) || syntax.Offset > n {
			t.Errorf("Check(%q) = %v, want an error of type *SyntaxError and Offset at most %d", doc[:n], err, n)
		}
	}
	assert.NoError(t, Check(doc))
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e+10,"é\ud83d\ude00\n",true,false,null,{}]}`, `"\ud800"`, "\"\xed\xa0\x80\"", `[1,]`, "\xef\xbb\xbf1",
		`[[[[[]]]]]`, `[1e308,1e309,-2.5E+400]`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		err := Check(b)
		assert.True(t, (err == nil) == strict(b), "Check(%q) = %v, and the oracle disagrees, want %t", b, err, strict(b))
		var syntax *SyntaxError
		assert.False(t, err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(b)),
			"Check(%q) = %v: bad offset, want an error of type *SyntaxError and Offset 0 to %d", b, err, len(b))
		assert.True(t, bytes.Equal(b, before), "Check wrote to its argument: got %q, want %q", b, before)
	})
}
