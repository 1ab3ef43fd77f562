package schema

import (
	"bytes"
	"unicode/utf8"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// inner returns a string value without its quotes.
func inner(raw []byte) []byte {
	if len(raw) < 2 {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// unit returns the length of the first character of text, which is not empty: a code point in UTF-8, an escape, or an
// escaped surrogate pair.
func unit(text []byte) int {
	if text[0] != '\\' {
		_, size := utf8.DecodeRune(text)
		return size
	}
	n := 2
	if len(text) > 6 && text[1] == 'u' {
		n = 6
		// \ud800 to \udbff: its other half follows, because the text is checked.
		if text[2]|0x20 == 'd' && (text[3] == '8' || text[3] == '9' || text[3]|0x20 == 'a' || text[3]|0x20 == 'b') {
			n = 12
		}
	} else if len(text) == 6 && text[1] == 'u' {
		n = 6
	}
	return min(n, len(text))
}

// length counts the code points of a string without its quotes.
func length(text []byte) int {
	n := 0
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return n + utf8.RuneCount(text)
		}
		n += utf8.RuneCount(text[:i]) + 1
		text = text[i:]
		text = text[unit(text):]
	}
}

// maxShown is how many characters of a client's value a message shows.
const maxShown = 200

// secretShown replaces secrets in messages and echoes.
const secretShown = `"**********"`

// show returns raw for a message: without space, cut to maxShown characters.
func show(raw []byte) string {
	var out []byte
	shown := 0
	for i := 0; i < len(raw) && shown <= maxShown; {
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			// Only the part of the string that is shown, with one form of escapes.
			i++
			if i < len(raw) && raw[i] == 0 { // a placeholder: show the file's name
				out = append(out, "file "...)
				i += bytes.IndexByte(raw[i:], ':') + 1
			}
			var text []byte
			for i < len(raw) && raw[i] != '"' && shown+len(text) <= maxShown*utf8.UTFMax {
				n := unit(raw[i:])
				text = rawjson.AppendText(text, raw[i:i+n])
				i += n
			}
			i++
			from := len(out)
			out = rawjson.AppendQuotedBytes(out, text)
			shown += utf8.RuneCount(out[from:])
		default:
			out = append(out, c)
			shown++
			i++
		}
	}
	return logtext.ClipRunes(string(out), maxShown)
}
