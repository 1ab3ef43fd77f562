package httpd

import "github.com/valyala/fasthttp"

// reload has the workers replaced by such as have the model as it is now, and does not wait for that. Only a program
// on this machine may ask.
func (s *Server) reload(ctx *fasthttp.RequestCtx) {
	if !local(ctx) {
		s.detail(ctx, fasthttp.StatusForbidden, "Only a program on the server's own machine may ask for a reload, and not through a proxy")
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
