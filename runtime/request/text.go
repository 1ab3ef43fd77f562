package request

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"pinion/runtime/logtext"
)

// maxShown is how many characters of a client's value an error message shows.
const maxShown = 200

func clip(s string) string { return logtext.ClipRunes(s, maxShown) }

// Show returns a header's value in quotes, with unprintable characters escaped.
func Show(b []byte) string {
	return strconv.QuoteToGraphic(clip(string(bytes.ToValidUTF8(b, []byte(string(utf8.RuneError))))))
}
