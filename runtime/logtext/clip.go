package logtext

import "unicode/utf8"

// MaxShown is how many bytes of a client's text a log line or an error shows.
const MaxShown = 200

// Clip shortens text for a log line or an error to MaxShown bytes, cuts it between two characters, and appends "…". The
// result of a cut does not keep the rest in memory.
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
