package rawjson

import (
	"bytes"
	"encoding/binary"
)

// Numbers reports whether v, an array of a checked document without surrounding space, has only numbers. It is several
// times as fast as a check of each.
func Numbers(v []byte) bool {
	return len(v) >= 2 && v[0] == '[' && v[len(v)-1] == ']' && flat(v[1:len(v)-1]) == len(v)-2
}

// CountNumbers returns how many items v, an array of numbers, has.
func CountNumbers(v []byte) int {
	if skipSpace(v, 1) == len(v)-1 {
		return 0
	}
	return bytes.Count(v, comma) + 1
}

// Whole reports whether no number in v, an array of numbers, has a fraction or an exponent.
func Whole(v []byte) bool {
	return bytes.IndexByte(v, '.') < 0 && bytes.IndexByte(v, 'e') < 0 && bytes.IndexByte(v, 'E') < 0
}

var comma = []byte{','}

// flat returns the first index that may be something other than numbers, commas and space, or len(b). In a checked
// document those bytes are not quotes, and with bit 0x20 set, which only changes 'E' to 'e', they are below 'f'.
// Brackets, braces and the first letters of true, false and null are not.
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

// other marks the bytes of x at which flat stops, and perhaps some above them.
func other(x uint64) uint64 {
	x |= ones * 0x20
	return x | (x + ones*(0x80-'f')) | equal(x, '"')
}
