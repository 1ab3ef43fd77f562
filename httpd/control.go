package httpd

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Traffic is where the requests for a model go of which there are several versions.
type Traffic struct {
	Shares map[string]int `json:"traffic"`          // of each version, in percent
	Mirror string         `json:"mirror,omitempty"` // the version that gets copies of requests
}

// showTraffic answers GET /models/{name}/traffic.
func (a *api) showTraffic(ctx *fasthttp.RequestCtx) { a.s.out.EncodeSeldom(ctx, a.model.Traffic()) }

// shiftTraffic answers POST /models/{name}/traffic. The next request goes by the new shares; those in flight end where
// they are.
func (a *api) shiftTraffic(ctx *fasthttp.RequestCtx) {
	if !a.s.guard.MayControl(ctx) {
		a.s.out.Detail(ctx, fasthttp.StatusForbidden, protocol.NoControl("given other traffic"))
		return
	}
	sent, err := a.s.bodies.Take(ctx)
	if err != nil {
		a.s.out.Refuse(ctx, err)
		return
	}
	shares, err := readShares(sent.Data)
	sent.Release()
	if err == nil {
		err = a.model.Shift(shares)
	}
	var notReady *predict.NotReadyError
	switch {
	case err == nil:
		a.showTraffic(ctx)
	case errors.As(err, &notReady):
		a.s.out.Detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
	default:
		a.s.out.Detail(ctx, fasthttp.StatusBadRequest, "The traffic stays as it is: "+err.Error())
	}
}

// readShares reads an object of shares by version.
func readShares(body []byte) (map[string]int, error) {
	if err := rawjson.Check(body); err != nil {
		return nil, fmt.Errorf("read the shares: %w", err)
	}
	if rawjson.KindOf(body) != rawjson.KindObject {
		return nil, errors.New(`the body must be an object of shares, as {"ocr@1": 90, "ocr@2": 10}`)
	}
	shares := map[string]int{}
	for key, value := range rawjson.Members(body) {
		name := rawjson.Name(key)
		share, err := strconv.Atoi(string(value))
		if err != nil {
			return nil, fmt.Errorf("the share of %q must be a whole number from 0 to 100", logtext.Clip(name))
		}
		if _, twice := shares[name]; twice {
			return nil, fmt.Errorf("%q is given twice", logtext.Clip(name))
		}
		shares[name] = share
	}
	return shares, nil
}

// reload replaces the workers by new ones that load the model as it is now, and does not wait.
func (a *api) reload(ctx *fasthttp.RequestCtx) {
	if !a.s.guard.MayControl(ctx) {
		a.s.out.Detail(ctx, fasthttp.StatusForbidden, protocol.NoControl("reloaded"))
		return
	}
	notice, err := a.model.Reload()
	if errors.Is(err, place.ErrNoModel) {
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

// change answers with the model's entry once it is loaded, or unloaded.
func (a *api) change(to string, do func() error) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if !a.s.guard.MayControl(ctx) {
			a.s.out.Detail(ctx, fasthttp.StatusForbidden, protocol.NoControl(to))
			return
		}
		err := do()
		status := fasthttp.StatusInternalServerError
		var notReady *predict.NotReadyError
		switch {
		case err == nil:
			a.s.out.EncodeSeldom(ctx, a.entry())
			return
		case errors.As(err, &notReady):
			answers.RetryAfter(ctx, notReady.RetryAfter)
			status = fasthttp.StatusServiceUnavailable
		}
		a.s.out.Detail(ctx, status, fmt.Sprintf("Model %s is not %s: %v", a.model.Name, to, err))
	}
}
