package rawjson

import (
	"bytes"
	"encoding/binary"
)

// Numbers tells whether v, an array of a checked document without space around it, holds nothing but numbers.
// It is several times as fast as asking for each.
func Numbers(v []byte) bool {
	return len(v) >= 2 && v[0] == '[' && v[len(v)-1] == ']' && flat(v[1:len(v)-1]) == len(v)-2
}

// CountNumbers is how many there are in v, an array of numbers.
func CountNumbers(v []byte) int {
	if skipSpace(v, 1) == len(v)-1 {
		return 0
	}
	return bytes.Count(v, comma) + 1
}

// Whole tells whether v, an array of numbers, has none with a fraction or an exponent.
func Whole(v []byte) bool {
	return bytes.IndexByte(v, '.') < 0 && bytes.IndexByte(v, 'e') < 0 && bytes.IndexByte(v, 'E') < 0
}

var comma = []byte{','}

// flat is the first index that may hold something other than numbers, commas and space, or len(b). Of what stands in a
// checked document those are without quotes, and with 0x20 added to their bits, which makes 'E' an 'e' and leaves the others
// as they are, below 'f'. Brackets, braces and the first letters of true, false and null are not.
func flat(b []byte) int {
	i := 0
	for ; len(b)-i >= 32; i += 32 {
		v, w := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])
		x, y := binary.LittleEndian.Uint64(b[i+16:]), binary.LittleEndian.Uint64(b[i+24:])
		if (other(v)|other(w)|other(x)|other(y))&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i] | 0x20; c >= 'f' || c == '"' {
			break
		}
	}
	return i
}

// other marks the bytes of x at which flat stops, and maybe some above them.
func other(x uint64) uint64 {
	x |= ones * 0x20
	return x | (x + ones*(0x80-'f')) | equal(x, '"')
}
