package httpd

import (
	"net"

	"github.com/valyala/fasthttp"
)

// reload has the workers replaced by such as have the model as it is now, and does not wait for that. Only
// who is on this machine may ask: a request that came over a proxy says so and is refused, and so is one that a
// browser sends for a page of another origin.
func (s *Server) reload(ctx *fasthttp.RequestCtx) {
	if !local(ctx) {
		s.detail(ctx, fasthttp.StatusForbidden, "Only a client on the server's own machine may ask for a reload")
		return
	}
	if err := s.opt.Reload(); err != nil {
		s.detail(ctx, fasthttp.StatusInternalServerError, "The model is not reloaded: "+err.Error())
		return
	}
	ctx.SetStatusCode(fasthttp.StatusAccepted)
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.SetBodyString("{}")
}

// local tells whether a request comes from this machine, and not through a proxy on it or a page in its browser.
func local(ctx *fasthttp.RequestCtx) bool {
	for _, name := range []string{fasthttp.HeaderXForwardedFor, fasthttp.HeaderForwarded, "X-Real-Ip", fasthttp.HeaderOrigin} {
		if len(ctx.Request.Header.Peek(name)) > 0 {
			return false
		}
	}
	switch addr := ctx.RemoteAddr().(type) {
	case *net.TCPAddr:
		return addr.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	default:
		return false
	}
}
