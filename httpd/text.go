package httpd

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxShown is how many characters of a client's value an error message repeats.
const maxShown = 200

// clip cuts s after n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// show is a header's value in quotes, with what is not printable escaped.
func show(b []byte) string {
	return strconv.QuoteToGraphic(clip(string(bytes.ToValidUTF8(b, []byte(string(utf8.RuneError)))), maxShown))
}

// printable tells whether b is plain ASCII, as every header may carry it.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
