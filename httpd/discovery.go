package httpd

import "github.com/valyala/fasthttp"

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

func (s *Server) discovery() fasthttp.RequestHandler {
	doc := discoveryBody{
		CogVersion:            s.opt.CogVersion,
		DocsURL:               "/docs",
		OpenAPIURL:            "/openapi.json",
		ShutdownURL:           "/shutdown",
		HealthcheckURL:        "/health-check",
		PredictionsURL:        "/predictions",
		PredictionsIdempotent: "/predictions/{prediction_id}",
		PredictionsCancel:     "/predictions/{prediction_id}/cancel",
	}
	if s.opt.NoShutdown {
		doc.ShutdownURL = ""
	}
	return func(ctx *fasthttp.RequestCtx) {
		doc := doc
		if s.svc.HasTraining() { // known only after the model is loaded
			doc.TrainingsURL = "/trainings"
			doc.TrainingsIdempotent = "/trainings/{training_id}"
			doc.TrainingsCancel = "/trainings/{training_id}/cancel"
		}
		s.encodeSeldom(ctx, fasthttp.StatusOK, doc)
	}
}
