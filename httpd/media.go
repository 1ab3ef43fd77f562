package httpd

import (
	"github.com/valyala/fasthttp"

	"pinion/runtime/request"
)

const contentSSE = "text/event-stream"

// mediaError is a body in a format that this server does not read.
type mediaError struct {
	reason   string
	encoding bool // the Content-Encoding is the reason
}

func (e *mediaError) Error() string { return e.reason }

// formOf returns the format and compression of a request's body, or why it is not read.
func formOf(h *fasthttp.RequestHeader) (request.Format, coding, error) {
	t := h.ContentType()
	form, known := request.FormatOf(t)
	if !known {
		return 0, 0, &mediaError{"Unsupported content type " + request.Show(t) +
			": send JSON with Content-Type: application/json, or application/msgpack, or multipart/form-data", false}
	}
	if e := h.ContentEncoding(); len(e) > 0 {
		encoding, known := codingOf(e)
		if !known || len(h.PeekAll(fasthttp.HeaderContentEncoding)) > 1 {
			return 0, 0, &mediaError{"Unsupported content encoding " + request.Show(e) +
				": send the body as it is, or compressed once, with gzip or zstd", true}
		}
		return form, encoding, nil
	}
	return form, plain, nil
}
