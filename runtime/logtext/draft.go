package logtext

import (
	"log/slog"
	"unicode/utf8"
)

// LevelDraft is the level of a line that has not ended: the next record replaces it. A log that cannot draw over what it has
// shown does not enable it.
const LevelDraft = slog.Level(-100)

// Complete returns text without the beginning of a character at its end.
func Complete(text []byte) []byte {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
