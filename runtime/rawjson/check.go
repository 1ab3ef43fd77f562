package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// MaxDepth bounds the nesting of arrays and objects: "[]" is one deep. The worker's reader has the same bound, so that
// such documents fit its stack.
const MaxDepth = 500

// Check returns an error, a *SyntaxError, unless b is exactly one strict JSON document. It makes one pass in constant
// memory.
func Check(b []byte) error {
	at, reason := scan(b, nil)
	if reason == "" {
		return nil
	}
	return &SyntaxError{Offset: at, Reason: explain(b, at, reason)}
}

// explain returns the reason, or names what other writers of JSON, such as Python's, have for a number that is not
// finite.
func explain(b []byte, at int, reason string) string {
	for _, word := range []string{"NaN", "Infinity"} {
		if bytes.HasPrefix(b[at:], []byte(word)) && (reason == reasonChar || reason == reasonNumber) {
			return word + " is not valid JSON"
		}
	}
	return reason
}

// Reasons that several functions return.
const (
	reasonEnd       = "unexpected end"
	reasonChar      = "unexpected character"
	reasonNumber    = "invalid number"
	reasonRange     = "number out of the range of a double"
	reasonDigits    = "integer of more than 100000 digits"
	reasonUTF8      = "invalid UTF-8"
	reasonEscape    = "invalid escape"
	reasonControl   = "unescaped control character in string"
	reasonSurrogate = "lone surrogate escape"
	reasonDepth     = "nested too deeply"
	reasonBOM       = "byte order mark"
	reasonTail      = "unexpected data after the value"
)

// nesting holds the open containers of a document, as bits of a fixed stack (1 is an object), so deep nesting costs
// nothing.
type nesting struct {
	kinds [(MaxDepth + 63) / 64]uint64
	depth int
}

// push opens a container.
func (n *nesting) push(object bool) {
	word, bit := &n.kinds[n.depth>>6], uint64(1)<<(n.depth&63)
	if object {
		*word |= bit
	} else {
		*word &^= bit
	}
	n.depth++
}

// inObject reports whether the innermost container is an object. There must be one.
func (n *nesting) inObject() bool { return n.kinds[(n.depth-1)>>6]>>((n.depth-1)&63)&1 == 1 }

// scan is Check without the error value: it returns where it stopped, and why, or "" if b is valid. It records long
// lists in lists, unless that is nil.
func scan(b []byte, lists *Lists) (i int, reason string) {
	var in nesting
	opened, first := 0, 0 // offsets of the container opened last and of its first value
	i = skipSpace(b, 0)
	if i == 0 && len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		return 0, reasonBOM
	}

value:
	if i = skipSpace(b, i); i >= len(b) {
		return len(b), reasonEnd
	}
	switch c := b[i]; {
	case c == '"':
		i, reason = scanString(b, i+1)
	case c == '{' || c == '[':
		if in.depth == MaxDepth {
			return i, reasonDepth
		}
		in.push(c == '{')
		opened = i
		if i = skipSpace(b, i+1); i >= len(b) {
			return len(b), reasonEnd
		}
		first = i
		switch {
		case b[i] == c+2: // in ASCII, '}' and ']' follow their partners by two
			i++
			in.depth--
		case c == '{':
			goto key
		default:
			goto value
		}
	case c == '-' || c-'0' < 10:
		start := i
		i, reason = scanNumber(b, i)
		if reason == "" && in.depth > 0 && !in.inObject() {
			i, reason = scanNumbers(b, i)
			if reason == "" && lists != nil && start == first && i < len(b) && b[i] == ']' {
				lists.add(opened, i+1)
			}
		}
	case c == 't' || c == 'f' || c == 'n':
		i, reason = scanWord(b, i)
	default:
		reason = reasonChar
	}
	if reason != "" {
		return i, reason
	}

after:
	i = skipSpace(b, i)
	switch {
	case in.depth == 0 && i < len(b):
		return i, reasonTail
	case in.depth == 0:
		return 0, ""
	case i >= len(b):
		return len(b), reasonEnd
	}
	switch c, object := b[i], in.inObject(); {
	case c == ',' && !object:
		i++
		goto value
	case c == ',':
		i = skipSpace(b, i+1)
	case c == ']' && !object, c == '}' && object:
		i++
		in.depth--
		goto after
	default:
		return i, reasonChar
	}

key:
	if i, reason = scanKey(b, i); reason != "" {
		return i, reason
	}
	goto value
}

// scanKey scans the key of an object's member and the colon behind it.
func scanKey(b []byte, i int) (int, string) {
	if i >= len(b) {
		return len(b), reasonEnd
	}
	if b[i] != '"' {
		return i, reasonChar
	}
	i, reason := scanString(b, i+1)
	if reason != "" {
		return i, reason
	}
	if i = skipSpace(b, i); i >= len(b) {
		return len(b), reasonEnd
	}
	if b[i] != ':' {
		return i, reasonChar
	}
	return i + 1, ""
}

// skipSpace returns the first index from i on that is not JSON space, or len(b).
func skipSpace(b []byte, i int) int {
	for ; i < len(b); i++ {
		if c := b[i]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
	}
	return i
}

// scanWord scans true, false or null. Of a misspelt one it returns the first byte that differs.
func scanWord(b []byte, i int) (int, string) {
	word := "null"
	switch b[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	for k := range len(word) {
		if i+k >= len(b) {
			return len(b), reasonEnd
		}
		if b[i+k] != word[k] {
			return i + k, reasonChar
		}
	}
	return i + len(word), ""
}

// scanNumbers scans the numbers of an array that follow the one before i, as long as only a comma, and perhaps one
// space, separates them. It is the fast path for long lists.
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

// scanNumber scans the number at i and returns the index after it. A number with a fraction or an exponent is read as a
// double everywhere, so it must be in a double's range; an integer may have maxDigits.
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
	if whole > maxDigits && i-start == whole && (b[start] != '-' || whole > maxDigits+1) {
		return start, reasonDigits
	}
	return i, ""
}

// maxDigits is how many digits an integer may have. The worker's reader has the same bound, because the time to read
// them grows with the square of their number.
const maxDigits = 100_000

// nearDigits is how many digits before the point are surely in a double's range with an exponent of two digits.
const nearDigits = 200

// overflows reports whether a number is out of a double's range.
func overflows(number []byte) bool {
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil // only the range: the syntax is valid
}

func numberEnd(b []byte, i int) (int, string) {
	if i >= len(b) {
		return len(b), reasonEnd
	}
	return i, reasonNumber
}

// skipDigits returns the first index from i on that is not a digit, or len(b).
func skipDigits(b []byte, i int) int {
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0' // digits become 0 to 9, other bytes more
		m := (x | (x + ones*(0x80-10))) & highs           // a carry can only mark bytes above a marked one
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
