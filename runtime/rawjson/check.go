package rawjson

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// MaxDepth is how deep arrays and objects may nest: "[]" is one deep. The worker's reader has the
// same bound, and encodings of such a document fit every stack on the way.
const MaxDepth = 500

// Check tells whether b is one strict JSON document, surrounded by nothing but space.
// The error is a *SyntaxError. Constant memory, one pass.
func Check(b []byte) error {
	at, reason := scan(b, nil)
	if reason == "" {
		return nil
	}
	return &SyntaxError{Offset: at, Reason: reason}
}

// Reasons that more than one place gives.
const (
	reasonEnd     = "unexpected end"
	reasonChar    = "unexpected character"
	reasonNumber  = "invalid number"
	reasonRange   = "number out of the range of a double"
	reasonUTF8    = "invalid UTF-8"
	reasonEscape  = "invalid escape"
	reasonControl = "unescaped control character in string"
	reasonLone    = "lone surrogate escape"
	reasonDepth   = "nested too deeply"
	reasonBOM     = "byte order mark"
	reasonTail    = "unexpected data after the value"
)

// scan is Check without the error value: where it stopped, and why ("" when all is well); lists, if any, are noted.
// The open containers are bits of a fixed stack (1: object), so hostile nesting costs nothing.
func scan(b []byte, lists *Lists) (int, string) {
	var open [(MaxDepth + 63) / 64]uint64
	depth := 0
	opened, first := 0, 0 // the container that was opened last, and its first value
	i := skipSpace(b, 0)
	if i == 0 && len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		return 0, reasonBOM
	}

value:
	if i = skipSpace(b, i); i >= len(b) {
		return len(b), reasonEnd
	}
	switch c := b[i]; {
	case c == '"':
		var reason string
		if i, reason = scanString(b, i+1); reason != "" {
			return i, reason
		}
	case c == '{' || c == '[':
		if depth == MaxDepth {
			return i, reasonDepth
		}
		bit := uint64(1) << (depth & 63)
		if c == '{' {
			open[depth>>6] |= bit
		} else {
			open[depth>>6] &^= bit
		}
		depth++
		opened = i
		if i = skipSpace(b, i+1); i >= len(b) {
			return len(b), reasonEnd
		}
		first = i
		if b[i] == c+2 { // '}' and ']' stand two after their partners in ASCII
			i++
			depth--
			break
		}
		if c == '{' {
			goto key
		}
		goto value
	case c == '-' || c-'0' < 10:
		var reason string
		start := i
		if i, reason = scanNumber(b, i); reason != "" {
			return i, reason
		}
		if depth > 0 && open[(depth-1)>>6]>>((depth-1)&63)&1 == 0 {
			if i, reason = scanNumbers(b, i); reason != "" {
				return i, reason
			}
			if lists != nil && start == first && i < len(b) && b[i] == ']' {
				lists.add(opened, i+1)
			}
		}
	case c == 't':
		if !hasWord(b, i, "true") {
			return wordEnd(b, i, "true")
		}
		i += len("true")
	case c == 'f':
		if !hasWord(b, i, "false") {
			return wordEnd(b, i, "false")
		}
		i += len("false")
	case c == 'n':
		if !hasWord(b, i, "null") {
			return wordEnd(b, i, "null")
		}
		i += len("null")
	default:
		return i, reasonChar
	}

after:
	i = skipSpace(b, i)
	if depth == 0 {
		if i < len(b) {
			return i, reasonTail
		}
		return 0, ""
	}
	if i >= len(b) {
		return len(b), reasonEnd
	}
	{
		object := open[(depth-1)>>6]>>((depth-1)&63)&1 == 1
		switch c := b[i]; {
		case c == ',':
			i++
			if !object {
				goto value
			}
			i = skipSpace(b, i)
		case c == ']' && !object, c == '}' && object:
			i++
			depth--
			goto after
		default:
			return i, reasonChar
		}
	}

key:
	if i >= len(b) {
		return len(b), reasonEnd
	}
	if b[i] != '"' {
		return i, reasonChar
	}
	{
		var reason string
		if i, reason = scanString(b, i+1); reason != "" {
			return i, reason
		}
	}
	if i = skipSpace(b, i); i >= len(b) {
		return len(b), reasonEnd
	}
	if b[i] != ':' {
		return i, reasonChar
	}
	i++
	goto value
}

// skipSpace is the first index from i on that holds no JSON space, or len(b).
func skipSpace(b []byte, i int) int {
	for ; i < len(b); i++ {
		if c := b[i]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
	}
	return i
}

func hasWord(b []byte, i int, word string) bool {
	return len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}

// wordEnd finds where a misspelt literal leaves its word.
func wordEnd(b []byte, i int, word string) (int, string) {
	for k := 0; k < len(word); k++ {
		if i+k >= len(b) {
			return len(b), reasonEnd
		}
		if b[i+k] != word[k] {
			return i + k, reasonChar
		}
	}
	return i, reasonChar
}

// scanNumbers goes over the numbers that follow one that ends before i in an array, as long as nothing but a comma, and a
// space maybe, stands between them. It is what long lists are made of.
func scanNumbers(b []byte, i int) (int, string) {
	for len(b)-i > 2 && b[i] == ',' {
		next := i + 1
		if b[next] == ' ' {
			next++
		}
		if b[next] != '-' && b[next]-'0' >= 10 {
			break
		}
		var reason string
		if i, reason = scanNumber(b, next); reason != "" {
			return i, reason
		}
	}
	return i, ""
}

// scanNumber goes over the number that begins at i and returns the index after it. One with a fraction or an exponent is a
// double wherever it is read, so it has to be in a double's range; a whole number may have any size.
func scanNumber(b []byte, i int) (int, string) {
	start, far := i, false
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return len(b), reasonEnd
	case b[i] == '0':
		i++
		if i < len(b) && b[i]-'0' < 10 {
			return i, reasonNumber // a leading zero
		}
	case b[i]-'0' < 10:
		i = skipDigits(b, i)
	default:
		return i, reasonNumber
	}
	whole := i - start
	if i < len(b) && b[i] == '.' {
		j := skipDigits(b, i+1)
		if j == i+1 {
			return numberEnd(b, j)
		}
		far = whole > nearDigits
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := skipDigits(b, i)
		if j == i {
			return numberEnd(b, j)
		}
		far = whole > nearDigits || j-i > 2
		i = j
	}
	if far && overflows(b[start:i]) {
		return start, reasonRange
	}
	return i, ""
}

// nearDigits is how many digits before the point may stand with an exponent of two digits and surely be in a double's range.
const nearDigits = 200

// overflows tells whether a number is out of a double's range.
func overflows(number []byte) bool {
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil // nothing but the range, for the form is that of JSON
}

func numberEnd(b []byte, i int) (int, string) {
	if i >= len(b) {
		return len(b), reasonEnd
	}
	return i, reasonNumber
}

// skipDigits is the first index from i on that holds no digit, or len(b).
func skipDigits(b []byte, i int) int {
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0' // digits become 0 to 9, all else more
		m := (x | (x + ones*(0x80-10))) & highs           // a carry marks only bytes above one that is marked
		if m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}
