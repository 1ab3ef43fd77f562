package request

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

// Show returns a header's value in quotes, with unprintable characters escaped.
func Show(b []byte) string {
	return strconv.QuoteToGraphic(clip(string(bytes.ToValidUTF8(b, []byte(string(utf8.RuneError))))))
}
