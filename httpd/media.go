package httpd

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

const contentSSE = "text/event-stream"

// mediaError is a body in a format that this server does not read.
type mediaError struct {
	reason   string
	encoding bool // the Content-Encoding is the reason
}

func (e *mediaError) Error() string { return e.reason }

// bodyForm is the format of a request's body.
type bodyForm uint8

const (
	jsonBody bodyForm = iota
	packBody          // MessagePack
	formBody          // multipart/form-data
)

// formOf returns the format and compression of a request's body, or why it is not read.
func formOf(h *fasthttp.RequestHeader) (bodyForm, coding, error) {
	var form bodyForm
	switch t := h.ContentType(); {
	case isJSON(t):
	case isPack(t):
		form = packBody
	case isForm(t):
		form = formBody
	default:
		return 0, 0, &mediaError{"Unsupported content type " + show(t) + ": send JSON with Content-Type: application/json, " +
			"or application/msgpack, or multipart/form-data", false}
	}
	if e := h.ContentEncoding(); len(e) > 0 {
		encoding, known := codingOf(e)
		if !known || len(h.PeekAll(fasthttp.HeaderContentEncoding)) > 1 {
			return 0, 0, &mediaError{"Unsupported content encoding " + show(e) +
				": send the body as it is, or compressed once, with gzip or zstd", true}
		}
		return form, encoding, nil
	}
	return form, plain, nil
}

func isForm(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	return bytes.EqualFold(trim(t), []byte("multipart/form-data"))
}

// isJSON reports whether a Content-Type is JSON. An absent one counts as JSON. Parameters are ignored, since JSON is
// always UTF-8.
func isJSON(contentType []byte) bool {
	if len(contentType) == 0 || string(contentType) == contentJSON {
		return true
	}
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	t = bytes.ToLower(bytes.TrimSpace(t))
	sub, ok := bytes.CutPrefix(t, []byte("application/"))
	if !ok {
		return false
	}
	if string(sub) == "json" {
		return true
	}
	tree, ok := bytes.CutSuffix(sub, []byte("+json"))
	if !ok || len(tree) == 0 {
		return false
	}
	for _, b := range tree {
		if !isToken(b) {
			return false
		}
	}
	return true
}

// isToken reports whether b may be in a token of RFC 9110, section 5.6.2; b is not upper case.
func isToken(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), b) >= 0
}
