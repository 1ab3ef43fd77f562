package predict

import "unicode/utf8"

// MaxShown is how many bytes of a text that a client sent appear in a log line or in an error.
const MaxShown = 200

// Clip returns text as a log line or an error may show it: at most MaxShown bytes, cut between two characters, and "…" where
// something is missing. What it cuts off is not kept in memory.
func Clip(text string) string {
	if len(text) <= MaxShown {
		return text
	}
	n := MaxShown
	for n > MaxShown-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
