//go:build pinion_test

package pyembed

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestJSONLoads_Values(t *testing.T) {
	const deepest = 500
	brackets := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	at := func(n, reason string) string { return "invalid JSON at byte " + n + ": " + reason }

	cases := []struct {
		name, text string
		want       string // a Python expression
		err        string // or the ValueError's text
	}{
		{name: "null", text: `null`, want: `None`},
		{name: "true", text: `true`, want: `True`},
		{name: "false", text: `false`, want: `False`},
		{name: "white space", text: " \t\r\n [ 1 , 2 ] \n", want: `[1, 2]`},
		{name: "no form feed as space", text: "\f1", err: at("0", "expected a value")},
		{name: "empty", text: ``, err: at("0", "expected a value, but the text ends")},
		{name: "only space", text: `  `, err: at("2", "expected a value, but the text ends")},
		{name: "word cut", text: `[tru`, err: at("1", "expected a value")},
		{name: "word wrong", text: `nulL`, err: at("0", "expected a value")},
		{name: "word too long", text: `nullx`, err: at("4", "text after the value")},
		{name: "two values", text: `1 2`, err: at("2", "text after the value")},
		{name: "byte order mark", text: "\xef\xbb\xbf1", err: at("0", "expected a value (a byte order mark is not allowed)")},
		{name: "trailing NUL", text: "1\x00", err: at("1", "text after the value")},

		{name: "zero", text: `0`, want: `0`},
		{name: "minus zero is an int", text: `-0`, want: `0`},
		{name: "minus zero float", text: `-0.0`, want: `-0.0`},
		{name: "int", text: `-123`, want: `-123`},
		{name: "18 digits", text: `999999999999999999`, want: `999999999999999999`},
		{name: "int64 max", text: `9223372036854775807`, want: `2**63 - 1`},
		{name: "int64 min", text: `-9223372036854775808`, want: `-2**63`},
		{name: "above uint64", text: `18446744073709551616`, want: `2**64`},
		{name: "digits at the bound", text: strings.Repeat("9", 100000), want: `10**100000 - 1`},
		{name: "digits above the bound", text: `[` + strings.Repeat("9", 100001) + `]`, err: at("1", "integer of more than 100000 digits")},
		{name: "float", text: `1.5`, want: `1.5`},
		{name: "exponent", text: `1e5`, want: `1e5`},
		{name: "exponent with signs", text: `-1.25E+2`, want: `-125.0`},
		{name: "small exponent", text: `1E-7`, want: `1e-7`},
		{name: "zero with an exponent", text: `0e99999999999999999999`, want: `0.0`},
		{name: "17 digits", text: `0.30000000000000004`, want: `0.1 + 0.2`},
		{name: "tie to even below", text: `9007199254740993.0`, want: `9007199254740992.0`},
		{name: "tie to even above", text: `9007199254740995.0`, want: `9007199254740996.0`},
		{name: "tie in fractions", text: `4503599627370497.5`, want: `4503599627370498.0`},
		{name: "just above a tie, 19 digits", text: `9007199254740993.001`, want: `9007199254740994.0`},
		{name: "just above a tie", text: `9007199254740993.00000000000000000000000000000001`, want: `9007199254740994.0`},
		{name: "carry to the next power of two", text: `9007199254740991.9`, want: `2.0**53`},
		{name: "smallest", text: `5e-324`, want: `5e-324`},
		{name: "underflow", text: `1e-400`, want: `0.0`},
		{name: "largest", text: `1.7976931348623157e308`, want: `sys.float_info.max`},
		{name: "long fraction", text: `0.` + strings.Repeat("0", 200000) + `1e200001`, want: `1.0`},
		{name: "many digits", text: `1` + strings.Repeat("0", 300) + `.5`, want: `1e300`},
		{name: "overflow", text: `[1e400]`, err: at("1", "number out of the range of a double")},
		{name: "negative overflow", text: `-1e999999999999`, err: at("0", "number out of the range of a double")},
		{name: "leading zero", text: `01`, err: at("0", "number with a leading zero")},
		{name: "leading zero, negative", text: `-00`, err: at("1", "number with a leading zero")},
		{name: "no digit", text: `-`, err: at("1", "expected a digit")},
		{name: "no digit after the point", text: `1.`, err: at("2", "expected a digit")},
		{name: "no digit before the point", text: `.5`, err: at("0", "expected a value")},
		{name: "no digit in the exponent", text: `1e+`, err: at("3", "expected a digit")},
		{name: "plus", text: `+1`, err: at("0", "expected a value")},
		{name: "hexadecimal", text: `0x1`, err: at("1", "text after the value")},
		{name: "NaN", text: `NaN`, err: at("0", "JSON has no NaN or infinity")},
		{name: "infinity", text: `[Infinity]`, err: at("1", "JSON has no NaN or infinity")},
		{name: "negative infinity", text: `-Infinity`, err: at("1", "JSON has no NaN or infinity")},

		{name: "empty string", text: `""`, want: `""`},
		{name: "string", text: `"abc"`, want: `"abc"`},
		{name: "UTF-8", text: `"äЖ€😀"`, want: `"\u00e4\u0416\u20ac\U0001f600"`},
		{name: "escapes", text: `"\"\\\/\b\f\n\r\t"`, want: `"\"\\/\b\f\n\r\t"`},
		{name: "unicode escapes", text: `"\u0041\u00E4\u20ac\ud83d\ude00\uD83D\uDE00"`, want: `"A\u00e4\u20ac\U0001f600\U0001f600"`},
		{name: "NUL escape", text: `"a\u0000b"`, want: `"a\0b"`},
		{name: "DEL", text: "\"\x7f\"", want: `"\x7f"`},
		{name: "long run then escape", text: `"` + strings.Repeat("x", 47) + `\n` + strings.Repeat("y", 33) + `"`, want: `"x" * 47 + "\n" + "y" * 33`},
		{name: "raw NUL", text: "\"a\x00\"", err: at("2", "control character in a string")},
		{name: "raw newline", text: "[\"0123456789abcdef\n\"]", err: at("18", "control character in a string")},
		{name: "control character in the tail", text: "\"\x1f", err: at("1", "control character in a string")},
		{name: "unterminated", text: `"abc`, err: at("4", "unterminated string")},
		{name: "unterminated after an escape", text: `"abc\n`, err: at("6", "unterminated string")},
		{name: "ends in a backslash", text: `"abc\`, err: at("5", "unterminated string")},
		{name: "unknown escape", text: `"ab\x"`, err: at("3", "unknown escape")},
		{name: "short unicode escape", text: `"\u12"`, err: at("1", `\u needs four hexadecimal digits`)},
		{name: "cut unicode escape", text: `"\u12`, err: at("1", `\u needs four hexadecimal digits`)},
		{name: "bad unicode escape", text: `"\u00g0"`, err: at("1", `\u needs four hexadecimal digits`)},
		{name: "lone high surrogate", text: `"a\ud800"`, err: at("2", "lone surrogate escape")},
		{name: "lone low surrogate", text: `"\udc00"`, err: at("1", "lone surrogate escape")},
		{name: "two high surrogates", text: `"\ud800\ud800"`, err: at("1", "lone surrogate escape")},
		{name: "high surrogate, bad escape", text: `"\ud800\udcg0"`, err: at("1", "lone surrogate escape")},
		{name: "high surrogate, cut", text: `"\ud800\u`, err: at("1", "lone surrogate escape")},
		{name: "surrogate in a key", text: `{"\ud800": 1}`, err: at("2", "lone surrogate escape")},
		{name: "UTF-8 lone continuation byte", text: "\"ab\x80\"", err: at("3", "invalid UTF-8")},
		{name: "UTF-8 overlong", text: "\"\xc0\xaf\"", err: at("1", "invalid UTF-8")},
		{name: "UTF-8 overlong, three bytes", text: "\"\xe0\x80\x80\"", err: at("1", "invalid UTF-8")},
		{name: "UTF-8 surrogate", text: "\"a\xed\xa0\x80\"", err: at("2", "invalid UTF-8")},
		{name: "UTF-8 above the last", text: "\"\xf4\x90\x80\x80\"", err: at("1", "invalid UTF-8")},
		{name: "UTF-8 cut by the quote", text: "[\"\xc3\xa4\xe2\x82\"]", err: at("4", "invalid UTF-8")},
		{name: "UTF-8 wrong after an escape", text: "\"\\n\\u00e4\xff\"", err: at("9", "invalid UTF-8")},
		{name: "UTF-8 wrong in a key", text: "{\"a\xff\":1}", err: at("3", "invalid UTF-8")},
		{name: "UTF-8 wrong in a long key", text: "{\"" + strings.Repeat("k", 40) + "\xff\":1}", err: at("42", "invalid UTF-8")},
		{name: "UTF-8 outside a string", text: "\xc3\xa4", err: at("0", "expected a value")},

		{name: "empty array", text: `[]`, want: `[]`},
		{name: "array", text: `[1,[2,[]],3]`, want: `[1, [2, []], 3]`},
		{name: "long array", text: `[` + strings.Repeat("1,", 99) + `[` + strings.Repeat("2,", 99) + `2]]`, want: `[1] * 99 + [[2] * 100]`},
		{name: "array, comma at the end", text: `[1,]`, err: at("3", "expected a value")},
		{name: "array, comma at the front", text: `[,1]`, err: at("1", "expected a value")},
		{name: "array, no comma", text: `[1 2]`, err: at("3", "expected ',' or ']'")},
		{name: "array, wrong bracket", text: `[1}`, err: at("2", "expected ',' or ']'")},
		{name: "array, cut", text: `[1`, err: at("2", "unterminated array")},
		{name: "array, cut after a comma", text: `[1,`, err: at("3", "expected a value, but the text ends")},
		{
			name: "array, bad after many", text: `[` + strings.Repeat(`"x",`, 100) + `[` + strings.Repeat(`{},`, 50) + `!`,
			err: at("552", "expected a value"),
		},
		{name: "empty object", text: `{}`, want: `{}`},
		{name: "object", text: `{"b": 1, "a": {"b": [2]}}`, want: `{"b": 1, "a": {"b": [2]}}`},
		{name: "empty key", text: `{"": 1}`, want: `{"": 1}`},
		{name: "escaped key", text: `{"\u0061\n": 1, "a\n": 2}`, want: `{"a\n": 2}`},
		{name: "duplicate keys", text: `{"a": 1, "b": 2, "a": 3}`, want: `{"a": 3, "b": 2}`},
		{name: "object, key no string", text: `{1: 2}`, err: at("1", "expected a string as key")},
		{name: "object, no colon", text: `{"a" 1}`, err: at("5", "expected ':'")},
		{name: "object, no value", text: `{"a":}`, err: at("5", "expected a value")},
		{name: "object, comma at the end", text: `{"a":1,}`, err: at("7", "expected a string as key")},
		{name: "object, no comma", text: `{"a":1 "b":2}`, err: at("7", "expected ',' or '}'")},
		{name: "object, cut", text: `{`, err: at("1", "unterminated object")},
		{name: "object, cut after the key", text: `{"a"`, err: at("4", "expected ':'")},
		{name: "object, cut after the value", text: `{"a":[1]`, err: at("8", "unterminated object")},
		{name: "object, cut after the comma", text: `{"a":1,`, err: at("7", "unterminated object")},

		{name: "deepest", text: brackets(deepest), want: `nest(499, [])`},
		{name: "too deep", text: brackets(deepest + 1), err: at("500", "nested deeper than 500 levels")},
		{name: "much too deep", text: strings.Repeat("[", 1000000), err: at("500", "nested deeper than 500 levels")},
		{name: "objects too deep", text: strings.Repeat(`{"a":`, 501), err: at("2500", "nested deeper than 500 levels")},
		{name: "wide is not deep", text: `[` + strings.Repeat(`[{}],`, 600) + `1]`, want: `[[{}]] * 600 + [1]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data, err := json.Marshal(map[string]string{"text": hex.EncodeToString([]byte(c.text)), "want": c.want, "error": c.err})
			assert.NoError(t, err)
			check(t, "check_load", string(data))
		})
	}
}

// TestJsonLoads_JSONDigits reads runs of digits of all lengths, which are taken eight at a time, at the end of a text
// and before its end.
func TestJsonLoads_JSONDigits(t *testing.T) {
	const digits = "918273645546372819108"
	var texts, wants []string
	add := func(text string) {
		texts = append(texts, text)
		wants = append(wants, `float("`+text+`")`)
	}
	for n := 1; n <= len(digits); n++ {
		for zeros := range 10 {
			add("0." + strings.Repeat("0", zeros) + digits[:n])
			add(digits[:n] + "." + strings.Repeat("0", zeros) + "7")
			add("-" + digits[:n] + "e-" + strings.Repeat("0", zeros) + "9")
		}
		texts, wants = append(texts, digits[:n]), append(wants, digits[:n])
	}
	load := func(text, want string) {
		data, err := json.Marshal(map[string]string{"text": hex.EncodeToString([]byte(text)), "want": want, "error": ""})
		assert.NoError(t, err)
		check(t, "check_load", string(data))
	}
	load("["+strings.Join(texts, ",")+"]", "["+strings.Join(wants, ",")+"]")
	for i, text := range texts {
		load(text, wants[i])
	}
	// No byte beside the digits may pass for one.
	for _, c := range "/:;?@p\x00 \u00b5" {
		for place := 1; place < 17; place++ {
			text := digits[:place] + string(c) + digits[place:17]
			at := strconv.Itoa(place)
			if c == ' ' {
				at = strconv.Itoa(place + 1)
			}
			data := assert.Must(json.Marshal(map[string]string{
				"text": hex.EncodeToString([]byte(text)), "want": "",
				"error": "invalid JSON at byte " + at + ": text after the value",
			}))(t)
			check(t, "check_load", string(data))
		}
	}
}

// TestJsonLoads_JSONTruncated cuts a text of everything at each byte: never a value, never a crash, nothing left.
func TestJsonLoads_JSONTruncated(t *testing.T) {
	text := `{"a": [1, -2.5e-3, "x\u00e4\ud83d\ude00\n", true, false, null, {"b": {}, "c": [[]]}], "ä€": "long enough for a block of sixteen"}`
	for n := range len(text) {
		check(t, "check_cut", text[:n])
	}
}
