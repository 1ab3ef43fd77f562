package httpd

import (
	"net/url"

	"github.com/valyala/fasthttp"
)

// cancelPrediction answers at once; the prediction's own request tells how it ended.
func (s *Server) cancelPrediction(ctx *fasthttp.RequestCtx) {
	segment, _ := ctx.UserValue("id").(string)
	// A segment that cannot be decoded names nothing. Decoding copies where it changes something; where
	// it does not, the id is a part of the request's buffer and must not outlive it.
	id, err := url.PathUnescape(segment)
	if err != nil || !s.svc.Cancel(string([]byte(id))) {
		literal(ctx, fasthttp.StatusNotFound, "{}")
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
}
