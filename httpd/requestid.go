package httpd

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/trace"
)

const (
	// headerRequestID identifies a request for clients and proxies: in its answer, in logs and in webhooks.
	headerRequestID = "X-Request-Id"

	// headerWarning tells a client about an unknown input, one header for each.
	headerWarning = protocol.HeaderWarning
)

// requestID returns the request's X-Request-Id; nil means none, or one that is too long or not printable ASCII. The
// server generates none: a prediction has an id.
func requestID(ctx *fasthttp.RequestCtx) []byte {
	if !transport.HasSeen(ctx, transport.SeenRequestID) {
		return nil
	}
	id := ctx.Request.Header.Peek(headerRequestID)
	if !trace.ValidRequestID(id) {
		return nil
	}
	return id
}

// echoRequestID copies a request's id to its answer.
func echoRequestID(ctx *fasthttp.RequestCtx) {
	if id := requestID(ctx); id != nil {
		ctx.Response.Header.SetBytesV(headerRequestID, id)
	}
}

// warn adds warnings to an answer.
func warn(ctx *fasthttp.RequestCtx, warnings []string) {
	for _, w := range warnings {
		ctx.Response.Header.Add(headerWarning, w)
	}
}
