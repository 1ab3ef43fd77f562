package httpd

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
)

// discoveryBody is the answer to GET /. Like Cog's, it names some routes before they exist.
type discoveryBody struct {
	CogVersion            string `json:"cog_version"`
	DocsURL               string `json:"docs_url"`
	OpenAPIURL            string `json:"openapi_url"`
	ShutdownURL           string `json:"shutdown_url,omitempty"`
	HealthcheckURL        string `json:"healthcheck_url"`
	PredictionsURL        string `json:"predictions_url"`
	PredictionsIdempotent string `json:"predictions_idempotent_url"`
	PredictionsCancel     string `json:"predictions_cancel_url"`
	TrainingsURL          string `json:"trainings_url,omitempty"`
	TrainingsIdempotent   string `json:"trainings_idempotent_url,omitempty"`
	TrainingsCancel       string `json:"trainings_cancel_url,omitempty"`
}

func (a *api) discovery() fasthttp.RequestHandler {
	doc := discoveryBody{
		CogVersion:            a.s.opt.CogVersion,
		DocsURL:               a.prefix + "/docs",
		OpenAPIURL:            a.prefix + "/openapi.json",
		ShutdownURL:           "/shutdown",
		HealthcheckURL:        a.prefix + "/health-check",
		PredictionsURL:        a.prefix + "/predictions",
		PredictionsIdempotent: a.prefix + "/predictions/{prediction_id}",
		PredictionsCancel:     a.prefix + "/predictions/{prediction_id}/cancel",
	}
	if a.s.opt.Shutdown == nil || a.prefix != "" { // the server's, not the model's
		doc.ShutdownURL = ""
	}
	return func(ctx *fasthttp.RequestCtx) {
		if a.model.Docs != nil {
			ctx.Response.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
			if negotiate.IsBrowser(&ctx.Request.Header) {
				seeOther(ctx, "docs")
				return
			}
		}
		doc := doc
		if a.to.Model().HasTraining() { // known only after the model is loaded
			doc.TrainingsURL = a.prefix + "/trainings"
			doc.TrainingsIdempotent = a.prefix + "/trainings/{training_id}"
			doc.TrainingsCancel = a.prefix + "/trainings/{training_id}/cancel"
		}
		a.s.out.EncodeSeldom(ctx, doc)
	}
}
