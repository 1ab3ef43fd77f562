package httpd

import "github.com/valyala/fasthttp"

// MetricsHandler answers GET /metrics in the format that the client prefers.
func MetricsHandler(set interface {
	Write(accept string) (contentType string, body []byte)
},
) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		contentType, body := set.Write(string(ctx.Request.Header.Peek(fasthttp.HeaderAccept)))
		ctx.SetContentType(contentType)
		ctx.SetBody(body)
	}
}
