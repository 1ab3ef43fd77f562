package state

import (
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// NATS trims the values of headers and replaces their line breaks by spaces. A value that would change is escaped as in
// RFC 8187; the others are stored as they are, as older servers write them.

// Escaped begins a value that is escaped.
const Escaped = "UTF-8''"

// Set sets a header to free text, unless it is empty.
func Set(h nats.Header, name, value string) {
	if value != "" {
		h.Set(name, escape(value))
	}
}

// Get is the reverse of set.
func Get(h nats.Header, name string) string {
	value := h.Get(name)
	rest, ok := strings.CutPrefix(value, Escaped)
	if !ok {
		return value
	}
	text, err := url.PathUnescape(rest)
	if err != nil { // an older server wrote it
		return value
	}
	return text
}

func escape(value string) string {
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	if strings.TrimSpace(value) == value && !strings.ContainsFunc(value, isControl) && !strings.HasPrefix(value, Escaped) {
		return value
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(Escaped)+len(value)+32)
	out = append(out, Escaped...)
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7f || c == '%' {
			out = append(out, '%', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}
