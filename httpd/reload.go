package httpd

import (
	"github.com/valyala/fasthttp"

	"pinion/runtime/rawjson"
)

// reload replaces the workers by new ones that load the model as it is now, and does not wait. Only a program on this
// machine may call it.
func (a *api) reload(ctx *fasthttp.RequestCtx) {
	if !local(ctx) {
		a.detail(ctx, fasthttp.StatusForbidden,
			"Only a program on the server's own machine may ask for a reload, and not through a proxy")
		return
	}
	notice, err := a.model.Reload()
	if err != nil {
		a.detail(ctx, fasthttp.StatusInternalServerError, "The model is not reloaded: "+err.Error())
		return
	}
	body := []byte("{}")
	if notice != "" {
		body = append(rawjson.AppendQuoted([]byte(`{"warning":`), notice), '}')
	}
	answerJSON(ctx, fasthttp.StatusAccepted, body)
}
