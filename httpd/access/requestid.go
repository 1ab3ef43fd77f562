package access

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/transport"
	"pinion/runtime/trace"
)

const (
	// HeaderRequestID identifies a request for clients and proxies: in its answer, in logs and in webhooks.
	HeaderRequestID = "X-Request-Id"
)

// requestID returns the request's X-Request-Id; nil means none, or one that is too long or not printable ASCII. The
// server generates none: a prediction has an id.
func requestID(ctx *fasthttp.RequestCtx) []byte {
	if !transport.HasSeen(ctx, transport.SeenRequestID) {
		return nil
	}
	id := ctx.Request.Header.Peek(HeaderRequestID)
	if !trace.ValidRequestID(id) {
		return nil
	}
	return id
}

// EchoRequestID copies a request's id to its answer.
func EchoRequestID(ctx *fasthttp.RequestCtx) {
	if id := requestID(ctx); id != nil {
		ctx.Response.Header.SetBytesV(HeaderRequestID, id)
	}
}
