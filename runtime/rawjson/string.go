package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes are looked at as one word. The tests below set the high bit of each byte that
// passes; a borrow may set it wrongly in bytes above the lowest one that passes, never below, so
// the lowest set bit is always right ("Bit Twiddling Hacks", S. E. Anderson, "haszero").
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// equal marks the bytes of x that are c.
func equal(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return (x - ones) &^ x
}

// special marks the bytes that interrupt the reading of a string: the quote, the backslash and
// control characters.
func special(x uint64) uint64 {
	below := (x - ones*0x20) &^ x
	return (below | equal(x, '"') | equal(x, '\\')) & highs
}

// run is how many bytes plain looks at together.
const run = 256

// After so many words without anything special a long run is tried for.
const (
	minWait = 4
	maxWait = 64
)

// plain goes over as much of b as has nothing special in it, in whole runs, and tells whether there is anything but
// ASCII in that. The two bytes that end or interrupt a string are looked for by what the runtime has for it, which takes 32
// bytes at a time; what is left, control characters, takes few steps a word.
func plain(b []byte) (n int, foreign uint64) {
	for len(b)-n >= run {
		block := b[n : n+run]
		if bytes.IndexByte(block, '"') >= 0 || bytes.IndexByte(block, '\\') >= 0 {
			break
		}
		var below, other uint64
		for len(block) >= 32 {
			v, w := binary.LittleEndian.Uint64(block), binary.LittleEndian.Uint64(block[8:])
			x, y := binary.LittleEndian.Uint64(block[16:]), binary.LittleEndian.Uint64(block[24:])
			below |= (v-ones*0x20)&^v | (w-ones*0x20)&^w | (x-ones*0x20)&^x | (y-ones*0x20)&^y
			other |= v | w | x | y
			block = block[32:]
		}
		if below&highs != 0 {
			break
		}
		foreign |= other
		n += run
	}
	return n, foreign
}

// scanString goes over the rest of a string from i, the byte after its opening quote, and returns
// the index after its closing quote, or the place of a fault and its reason.
func scanString(b []byte, i int) (int, string) {
	start := i
	foreign := uint64(0) // its high bits tell whether anything but ASCII was met
	wait := minWait
	for {
		for n := 0; len(b)-i >= 8; n++ {
			if n > wait && len(b)-i >= run {
				// A long plain run (base64) may be. Where there was none, the next is looked for later.
				ran, other := plain(b[i:])
				foreign |= other
				i += ran
				if n, wait = 0, min(2*wait, maxWait); ran > 0 {
					wait = minWait
					continue
				}
			}
			x := binary.LittleEndian.Uint64(b[i:])
			if m := special(x); m != 0 {
				at := bits.TrailingZeros64(m) &^ 7
				foreign |= x & (1<<at - 1)
				i += at >> 3
				goto found
			}
			foreign |= x
			i += 8
		}
		for ; i < len(b); i++ {
			c := b[i]
			if c < 0x20 || c == '"' || c == '\\' {
				goto found
			}
			foreign |= uint64(c)
		}
		return scanned(b, start, i, foreign, reasonEnd)

	found:
		switch b[i] {
		case '"':
			if foreign&highs == 0 {
				return i + 1, ""
			}
			return scanned(b, start, i, foreign, "")
		case '\\':
			next, reason := scanEscape(b, i)
			if reason != "" {
				if at, bad := scanned(b, start, i, foreign, ""); bad != "" {
					return at, bad
				}
				return next, reason
			}
			i = next
		default:
			return scanned(b, start, i, foreign, reasonControl)
		}
	}
}

// scanned ends the reading of a string at i, where reason stands unless a fault in the encoding of
// b[start:i] comes before it.
func scanned(b []byte, start, i int, foreign uint64, reason string) (int, string) {
	if foreign&highs != 0 && !utf8.Valid(b[start:i]) {
		for start < i {
			r, size := utf8.DecodeRune(b[start:i])
			if r == utf8.RuneError && size == 1 {
				break
			}
			start += size
		}
		return start, reasonUTF8
	}
	if reason == "" {
		i++
	}
	return i, reason
}

// scanEscape goes over the escape at i (its backslash) and returns the index after it; an escaped
// surrogate pair counts as one.
func scanEscape(b []byte, i int) (int, string) {
	if i+1 >= len(b) {
		return len(b), reasonEnd
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, ""
	case 'u':
	default:
		return i + 1, reasonEscape
	}
	u, ok := hex4(b, i+2)
	if !ok {
		return hexEnd(b, i+2)
	}
	switch {
	case u < surrogates || u > lowMax:
		return i + 6, ""
	case u >= lowMin:
		return i, reasonLone
	}
	if i+7 >= len(b) || b[i+6] != '\\' || b[i+7] != 'u' {
		return i, reasonLone
	}
	low, ok := hex4(b, i+8)
	if !ok {
		return hexEnd(b, i+8)
	}
	if low < lowMin || low > lowMax {
		return i, reasonLone
	}
	return i + 12, ""
}

// UTF-16 surrogates: high ones from surrogates, low ones from lowMin to lowMax.
const (
	surrogates = 0xD800
	lowMin     = 0xDC00
	lowMax     = 0xDFFF
)

// hex4 reads four hexadecimal digits at i.
func hex4(b []byte, i int) (rune, bool) {
	if len(b)-i < 4 {
		return 0, false
	}
	var u rune
	for _, c := range b[i : i+4] {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		u = u<<4 | d
	}
	return u, true
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c-'0' < 10:
		return rune(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}

// hexEnd finds the first byte from i on that is no hexadecimal digit.
func hexEnd(b []byte, i int) (int, string) {
	for ; i < len(b); i++ {
		if _, ok := hexDigit(b[i]); !ok {
			return i, reasonEscape
		}
	}
	return len(b), reasonEnd
}

// maxPiece is how many bytes are gone over without a chance for Go's scheduler.
const maxPiece = 256 << 10

// skipString is the index after the string whose first byte inside the quotes is at i, over
// checked bytes; len(b) where it has no end.
func skipString(b []byte, i int) int {
	start := i
	for {
		for n := 0; len(b)-i >= 8 && n < 8; n++ {
			x := binary.LittleEndian.Uint64(b[i:])
			if m := equal(x, '"') & highs; m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto quote
			}
			i += 8
		}
		{
			// Not short: the assembler of the standard library is faster from here on. It cannot be interrupted, and the
			// collector waits for it: hence piece by piece.
			n := bytes.IndexByte(b[i:min(i+maxPiece, len(b))], '"')
			if n < 0 {
				if i += maxPiece; i >= len(b) {
					return len(b)
				}
				continue
			}
			i += n
		}
	quote:
		// The quote is escaped when an odd number of backslashes stands before it.
		j := i
		for j > start && b[j-1] == '\\' {
			j--
		}
		i++
		if (i-1-j)&1 == 0 {
			return i
		}
		start = i
	}
}
