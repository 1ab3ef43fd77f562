package httpd

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxShown is how many characters of a client's value an error message shows.
const maxShown = 200

// clip cuts s after maxShown characters.
func clip(s string) string {
	n := 0
	for i := range s {
		if n == maxShown {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// show returns a header's value in quotes, with unprintable characters escaped.
func show(b []byte) string {
	return strconv.QuoteToGraphic(clip(string(bytes.ToValidUTF8(b, []byte(string(utf8.RuneError))))))
}

// printable reports whether b is printable ASCII, as a header value requires.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
