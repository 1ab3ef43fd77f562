package negotiate

import (
	"github.com/valyala/fasthttp"

	"pinion/runtime/request"
)

// Types of answers.
const (
	TypeJSON        = "application/json"
	TypeMsgPack     = request.TypeMsgPack
	TypeEventStream = "text/event-stream"
)

// MediaError is a body in a format that this server does not read.
type MediaError struct {
	Reason   string
	Encoding bool // the Content-Encoding is the reason
}

func (e *MediaError) Error() string { return e.Reason }

// FormOf returns the format and compression of a request's body, or why it is not read.
func FormOf(h *fasthttp.RequestHeader) (request.Format, Coding, error) {
	t := h.ContentType()
	form, known := request.FormatOf(t)
	if !known {
		return 0, Plain, &MediaError{Reason: "Unsupported content type " + request.Show(t) +
			": send JSON with Content-Type: application/json, or application/msgpack, or multipart/form-data"}
	}
	coding, err := CodingIn(h)
	return form, coding, err
}

// CodingIn returns the compression of a request's body, or why it is not read.
func CodingIn(h *fasthttp.RequestHeader) (Coding, error) {
	return codingIn(h, CodingOf, "gzip or zstd")
}

// AnyCodingIn returns the compression of a request's body in another protocol, or why it is not read.
func AnyCodingIn(h *fasthttp.RequestHeader) (Coding, error) {
	return codingIn(h, AnyCodingOf, "deflate, "+Readable)
}

func codingIn(h *fasthttp.RequestHeader, known func([]byte) (Coding, bool), names string) (Coding, error) {
	header := h.ContentEncoding()
	if len(header) == 0 {
		return Plain, nil
	}
	coding, ok := known(header)
	if !ok || len(h.PeekAll(fasthttp.HeaderContentEncoding)) > 1 {
		return Plain, &MediaError{"Unsupported content encoding " + request.Show(header) +
			": send the body as it is, or compressed once, with " + names, true}
	}
	return coding, nil
}

// Printable reports whether b is printable ASCII, as a header value requires.
func Printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
