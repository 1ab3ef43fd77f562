package transport

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// SeenHeaders are headers that a request on the connection had. Without them, handlers need not search for them.
type SeenHeaders uint16

const (
	SeenOrigin SeenHeaders = 1 << iota // Origin, Sec-Fetch-Site or Referer
	SeenRequestID
	SeenAccept
	SeenAcceptEncoding
	SeenPrefer
	SeenTraceParent
	SeenMeta // one that request.ReadMeta reads, beside tracestate, which belongs to a traceparent, and the tenant's
)

// seenHeader is a header whose presence is recorded.
type seenHeader struct {
	name string
	bit  SeenHeaders
}

// seenHeaders are the recorded headers by the low bits of their first letter, which are the same in both cases.
var seenHeaders = [32][]seenHeader{
	'A' & 31: {{fasthttp.HeaderAccept, SeenAccept}, {fasthttp.HeaderAcceptEncoding, SeenAcceptEncoding}},
	'O' & 31: {{fasthttp.HeaderOrigin, SeenOrigin}},
	'P' & 31: {{"Prefer", SeenPrefer}, {"Pinion-Deadline", SeenMeta}, {"Pinion-Priority", SeenMeta}},
	'R' & 31: {{fasthttp.HeaderReferer, SeenOrigin}},
	'S' & 31: {{"Sec-Fetch-Site", SeenOrigin}},
	'T' & 31: {{"Traceparent", SeenTraceParent | SeenMeta}},
	'X' & 31: {{"X-Request-Id", SeenRequestID | SeenMeta}},
}

// seenBit returns the bit of a header's name, which is not empty, or 0 if its presence is not recorded.
func seenBit(name []byte) SeenHeaders {
	for _, h := range seenHeaders[name[0]&31] {
		if isHeader(name, h.name) {
			return h.bit
		}
	}
	return 0
}

// isHeader compares a header's name without regard to case.
func isHeader(name []byte, want string) bool {
	return len(name) == len(want) && equalFold(name, want)
}

func equalFold(name []byte, want string) bool {
	return string(name) == want || bytes.EqualFold(name, []byte(want))
}
