package oip

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

func answer(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.SetBodyString(body)
}

// refusing returns a handler that answers with the error.
func (h *handlers) refusing(handle func(*handlers, *protocol.Exchange) *protocol.Error) func(*protocol.Exchange) {
	return func(x *protocol.Exchange) {
		if err := handle(h, x); err != nil {
			refuse(x.RequestCtx, err)
		}
	}
}

func refuse(ctx *fasthttp.RequestCtx, err *protocol.Error) {
	err.Answer(ctx, append(rawjson.AppendQuoted([]byte(`{"error":`), err.Error()), '}'))
}
