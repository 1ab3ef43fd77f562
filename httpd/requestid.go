package httpd

import "github.com/valyala/fasthttp"

const (
	// headerRequestID is by which clients and proxies find a request again: in its answer, in logs, in its webhooks.
	headerRequestID = "X-Request-Id"
	maxRequestID    = 200 // bytes

	// headerWarning says what a client may have meant otherwise, once for each.
	headerWarning = "Pinion-Warning"
)

// requestID is the id that a request came with; nil: none, or one that is too long or not printable ASCII. None is made
// here: a prediction has an id already.
func requestID(ctx *fasthttp.RequestCtx) []byte {
	if !hasSeen(ctx, seenRequestID) {
		return nil
	}
	id := ctx.Request.Header.Peek(headerRequestID)
	if len(id) == 0 || len(id) > maxRequestID || !printable(id) {
		return nil
	}
	return id
}

// echoRequestID puts a request's id into its answer.
func echoRequestID(ctx *fasthttp.RequestCtx) {
	if id := requestID(ctx); id != nil {
		ctx.Response.Header.SetBytesV(headerRequestID, id)
	}
}

// warn puts warnings into an answer.
func warn(ctx *fasthttp.RequestCtx, warnings []string) {
	for _, w := range warnings {
		ctx.Response.Header.Add(headerWarning, w)
	}
}
