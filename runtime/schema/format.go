package schema

import (
	"bytes"
	"encoding/base64"

	"pinion/runtime/rawjson"
)

// format is a restriction of strings by their form.
type format uint8

const (
	anyFormat  format = iota
	fileURL           // an http, https or data URL
	base64Text        // base64 with padding, or a data URL
)

// holds reports whether text, a string without its quotes, has the format, which is not anyFormat.
func (f format) holds(text []byte) bool {
	if f == fileURL || hasScheme(text, "data:") || len(text) > 0 && text[0] == 0 {
		return isFileURL(text)
	}
	if bytes.IndexByte(text, '\\') >= 0 { // a slash may be escaped
		text = rawjson.AppendText(nil, text)
	}
	n := len(text)
	if n%4 != 0 {
		return false
	}
	if n == 0 {
		return true
	}
	for _, c := range text[:n-4] {
		if !isBase64(c) {
			return false
		}
	}
	var last [3]byte
	_, err := base64.StdEncoding.Decode(last[:], text[n-4:])
	return err == nil
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// message is that for a string without the format.
func (f format) message() string {
	if f == fileURL {
		return msgURL
	}
	return msgBase64
}

// namesFile reports whether a string that n accepts may be the URL of a file, or stand for an attached one.
func (n *node) namesFile() bool { return n.format != anyFormat || n.fromFile }

// takesFile reports whether raw is the URL of a file in place of the items of a streamed input of bytes: the model gets
// its content in pieces.
func (n *node) takesFile(raw []byte) bool {
	return n.fromFile && rawjson.KindOf(raw) == rawjson.KindString && isFileURL(inner(raw))
}
