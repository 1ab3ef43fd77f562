package replicate

import (
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
)

// Options of the protocol.
type Options struct {
	// CogVersion is what the versions of models say they were made with.
	CogVersion string
	// WebhookSecret is what clients verify webhooks with.
	WebhookSecret string
}

// handlers are the handlers of the protocol's routes.
type handlers struct {
	o        Options
	models   protocol.Models
	versions versions
	uploads  uploads
}

// New returns the protocol for these models.
func New(models protocol.Models, o Options) protocol.Protocol {
	h := &handlers{o: o, models: models}
	h.versions.known = map[string]version{}
	h.uploads.files = map[string]*upload{}
	get, post := fasthttp.MethodGet, fasthttp.MethodPost
	const model, deployment = "/v1/models/{owner}/{name}", "/v1/deployments/{owner}/{name}"
	return protocol.Protocol{
		Name: protocol.Replicate,
		Routes: []protocol.Route{
			{Method: post, Path: "/v1/predictions", Handle: h.createOfVersion},
			{Method: get, Path: "/v1/predictions", Handle: h.list},
			{Method: get, Path: "/v1/predictions/{id}", Handle: h.get},
			{Method: post, Path: "/v1/predictions/{id}/cancel", Handle: h.cancel},
			{Method: get, Path: streamPath + "{id}", Handle: h.stream},
			{Method: get, Path: model, Handle: h.model},
			{Method: get, Path: model + "/versions", Handle: h.listVersions},
			{Method: get, Path: model + "/versions/{version}", Handle: h.version},
			{Method: post, Path: model + "/predictions", Handle: h.createOfModel},
			{Method: post, Path: model + "/versions/{version}/predictions", Handle: h.createOfModel},
			{Method: get, Path: deployment, Handle: h.deployment},
			{Method: post, Path: deployment + "/predictions", Handle: h.createOfModel},
			{Method: post, Path: "/v1/files", Handle: h.upload},
			{Method: get, Path: "/v1/files", Handle: h.listFiles, Private: true},
			{Method: get, Path: filePath + "{id}", Handle: h.file},
			{Method: fasthttp.MethodDelete, Path: filePath + "{id}", Handle: h.deleteFile},
			{Method: get, Path: filePath + "{id}/{name}", Handle: h.download},
			{Method: get, Path: "/v1/webhooks/default/secret", Handle: h.secret, Private: true},
		},
		Prefixes: []string{
			"/v1/predictions", "/v1/streams", "/v1/deployments", "/v1/files", "/v1/webhooks", "/v1/trainings",
			"/v1/collections", "/v1/hardware", "/v1/account",
		},
		Owns:   ownsModelPath,
		Signed: []string{streamPath, filePath},
		Refuse: refuse,
	}
}

// secret answers with what webhooks are verified with.
func (h *handlers) secret(x *protocol.Exchange) {
	x.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	x.Send(contentJSON, appendMember([]byte("{"), "key", h.o.WebhookSecret), []byte("}"))
}

// list refuses a list of predictions: only those who know an id see a prediction.
func (h *handlers) list(x *protocol.Exchange) {
	refuse(x.RequestCtx, protocol.Errorf(protocol.Unknown, "this server lists no predictions: ask for one by its id"))
}

// ownsModelPath reports whether a path is that of a model with its owner.
func ownsModelPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/v1/models/")
	return ok && strings.Contains(rest, "/") && !strings.Contains(rest, ":")
}
