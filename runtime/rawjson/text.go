package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Text returns the text of the string value raw (with its quotes).
func Text(raw []byte) string {
	if len(raw) < 2 {
		return ""
	}
	return KeyText(raw[1 : len(raw)-1])
}

// KeyText returns the text of a key from ObjectReader, or of a string without its quotes.
func KeyText(key []byte) string {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key)
	}
	// The text is never longer than its escaped form.
	b := AppendText(make([]byte, 0, len(key)), key)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// maxName is how many bytes of a key Name reads.
const maxName = 1024

// Name is KeyText for a key that is compared with known names. It returns only the beginning of a key that is longer
// than any, so that megabytes are not copied.
func Name(key []byte) string { return KeyText(key[:min(len(key), maxName)]) }

// KeyIs reports whether the text of key is name.
func KeyIs(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key) == name
	}
	// An escaped character is at most six times as long.
	if len(key) > 6*len(name) || len(key) < len(name) {
		return false
	}
	var space [256]byte
	return string(AppendText(space[:0], key)) == name
}

// Comma appends the comma before a further item of a list.
func Comma(dst []byte, further bool) []byte {
	if further {
		return append(dst, ',')
	}
	return dst
}

// AppendText appends the text of key; see KeyText.
func AppendText(dst, key []byte) []byte {
	for {
		n := bytes.IndexByte(key, '\\')
		if n < 0 || n+1 >= len(key) {
			return append(dst, key...)
		}
		dst = append(dst, key[:n]...)
		c := key[n+1]
		key = key[n+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			var r rune
			r, key = unicodeEscape(key)
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// CutText returns where the inside of a JSON string can be cut for AppendText: after about n bytes, and not within an
// escape or a pair of them.
func CutText(text []byte, n int) int {
	n = min(n, len(text))
	at := 0
	for at < n {
		next := bytes.IndexByte(text[at:n], '\\')
		if next < 0 {
			return n
		}
		if at += next + 2; at <= len(text) && text[at-1] == 'u' {
			_, rest := unicodeEscape(text[at:])
			at = len(text) - len(rest)
		}
	}
	return min(at, len(text))
}

// unicodeEscape reads the digits after a \u, and a second escape if the first is a high surrogate.
func unicodeEscape(b []byte) (rune, []byte) {
	r, ok := hex4(b, 0)
	if !ok {
		return utf8.RuneError, b
	}
	b = b[4:]
	if r < surrogates || r >= lowMin || len(b) < 6 {
		return r, b // utf8.AppendRune writes U+FFFD for a lone surrogate
	}
	low, ok := hex4(b, 2)
	if !ok {
		return utf8.RuneError, b
	}
	return (r-surrogates)<<10 + (low - lowMin) + 0x10000, b[6:]
}

// AppendQuoted appends s as a JSON string. Each invalid byte of UTF-8 becomes U+FFFD, so that the result always passes
// Check.
func AppendQuoted(dst []byte, s string) []byte {
	return AppendQuotedBytes(dst, unsafe.Slice(unsafe.StringData(s), len(s)))
}

// AppendQuotedBytes is AppendQuoted for bytes, which it does not copy.
func AppendQuotedBytes(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if len(s)-i >= 8 {
			x := binary.LittleEndian.Uint64(s[i:])
			other := special(x) | x&highs
			if other == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(other) >> 3
		}
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			if r != utf8.RuneError || size != 1 {
				i += size
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
		} else {
			dst = append(dst, s[start:i]...)
			dst = appendEscaped(dst, c)
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// QuotedLen returns the length of AppendQuotedBytes' text. s is UTF-8.
func QuotedLen(s []byte) int {
	n := len(s) + len(`""`)
	for _, c := range s {
		switch {
		case c == '"', c == '\\', c >= '\b' && c <= '\r' && c != '\v':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// appendEscaped appends the escape of a quote, a backslash or a control character.
func appendEscaped(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}
