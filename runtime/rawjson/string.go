package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes are tested as one word. A test sets the high bit of each byte that passes. A borrow may set it wrongly in
// bytes above the lowest one that passes, never below: so the lowest set bit is always right ("Bit Twiddling Hacks", S.
// E. Anderson, "haszero").
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// equal marks the bytes of x that equal c.
func equal(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return (x - ones) &^ x
}

// special marks the bytes that are not plain text of a string: the quote, the backslash and control characters.
func special(x uint64) uint64 {
	below := (x - ones*0x20) &^ x
	return (below | equal(x, '"') | equal(x, '\\')) & highs
}

// run is how many bytes plain tests at a time.
const run = 256

// After this many words without a special byte, scanString tries plain.
const (
	minWait = 4
	maxWait = 64
)

// plain returns how much of b, in whole runs, has no special byte, and whether it has bytes other than ASCII. The quote
// and the backslash are found by the runtime's assembler, 32 bytes at a time; control characters take few steps a word.
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

// scanString scans the rest of a string from i, the byte after its opening quote. It returns the index after its
// closing quote, or the offset and reason of a fault.
func scanString(b []byte, i int) (int, string) {
	start := i
	foreign := uint64(0) // high bits are set if there was a byte other than ASCII
	wait := minWait
	for {
		for n := 0; len(b)-i >= 8; n++ {
			if n > wait && len(b)-i >= run {
				// This may be a long plain run (base64). If not, the next attempt comes later.
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

// scanned returns i and reason for the end of a string's scan, unless b[start:i] is invalid UTF-8.
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

// scanEscape scans the escape at i (its backslash) and returns the index after it. An escaped surrogate pair is one
// escape.
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
		return i, reasonSurrogate
	}
	if i+7 >= len(b) || b[i+6] != '\\' || b[i+7] != 'u' {
		return i, reasonSurrogate
	}
	low, ok := hex4(b, i+8)
	if !ok {
		return hexEnd(b, i+8)
	}
	if low < lowMin || low > lowMax {
		return i, reasonSurrogate
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

// hexEnd returns the first index from i on that is not a hexadecimal digit.
func hexEnd(b []byte, i int) (int, string) {
	for ; i < len(b); i++ {
		if _, ok := hexDigit(b[i]); !ok {
			return i, reasonEscape
		}
	}
	return len(b), reasonEnd
}

// maxPiece is how many bytes are scanned without a preemption point for Go's scheduler.
const maxPiece = 256 << 10

// skipString returns the index after the string whose first byte inside the quotes is at i, in checked bytes; len(b) if
// it has no end.
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
			// For a long string the standard library's assembler is faster. It cannot be preempted, and the garbage collector
			// waits for it, so the string is scanned in pieces.
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
		// The quote is escaped if an odd number of backslashes precedes it.
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
