package httpd

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

const contentSSE = "text/event-stream"

// mediaError is a body in a form that this server does not read.
type mediaError struct {
	reason   string
	encoding bool // it is about the Content-Encoding
}

func (e *mediaError) Error() string { return e.reason }

// acceptable says why a request's body is not one that is read as JSON.
func acceptable(h *fasthttp.RequestHeader) error {
	if t := h.ContentType(); !isJSON(t) {
		return &mediaError{"Unsupported content type " + show(t) + ": send JSON with Content-Type: application/json", false}
	}
	if e := h.ContentEncoding(); len(e) > 0 && !bytes.EqualFold(e, []byte("identity")) {
		return &mediaError{"Unsupported content encoding " + show(e) + ": send the body as it is, without compression", true}
	}
	return nil
}

// isJSON tells whether a Content-Type says JSON. None says so too; parameters do not matter, as JSON
// is always UTF-8.
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

// isToken tells whether b may stand in a token of RFC 9110, section 5.6.2; b is not upper case.
func isToken(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), b) >= 0
}
