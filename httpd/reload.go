package httpd

import (
	"errors"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// reload replaces the workers by new ones that load the model as it is now, and does not wait.
func (a *api) reload(ctx *fasthttp.RequestCtx) {
	if !a.s.guard.MayControl(ctx) {
		a.s.out.Detail(ctx, fasthttp.StatusForbidden, protocol.NoControl("reloaded"))
		return
	}
	notice, err := a.model.Reload()
	if errors.Is(err, ErrNoModel) {
		a.s.out.Detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	if err != nil {
		a.s.out.Detail(ctx, fasthttp.StatusInternalServerError, "The model is not reloaded: "+err.Error())
		return
	}
	body := []byte("{}")
	if notice != "" {
		body = append(rawjson.AppendQuoted([]byte(`{"warning":`), notice), '}')
	}
	answers.JSON(ctx, fasthttp.StatusAccepted, body)
}
