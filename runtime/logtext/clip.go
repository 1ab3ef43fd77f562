package logtext

import "unicode/utf8"

// MaxShown is how many bytes of a client's text a log line or an error shows.
const MaxShown = 200

// Clip shortens text for a log line or an error to MaxShown bytes, cuts it between two characters, and appends "…". The
// result of a cut does not keep the rest in memory.
func Clip(text string) string { return ClipTo(text, MaxShown) }

// ClipTo shortens text as Clip does, to another number of bytes.
func ClipTo[T string | []byte](text T, most int) string {
	if len(text) <= most {
		return string(text)
	}
	return string(Head(text, most)) + "…"
}

// ClipRunes shortens text to most characters, and appends "…".
func ClipRunes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// Head returns the first bytes of text, at most that many, to the end of a character.
func Head[T string | []byte](text T, most int) T {
	if len(text) <= most {
		return text
	}
	n := max(0, most)
	for n > max(0, most-utf8.UTFMax) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

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

// Tail returns the last bytes of text, at most that many, from the beginning of a character on.
func Tail[T string | []byte](text T, most int) T {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for n := 0; n < utf8.UTFMax && len(text) > 0 && !utf8.RuneStart(text[0]); n++ {
		text = text[1:]
	}
	return text
}
