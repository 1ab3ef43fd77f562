package instances

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/nearest"
)

// Repository is the models that SageMaker loads and unloads while the server runs.
type Repository interface {
	// Ready says why the server takes neither models nor predictions; nil means it does.
	Ready() error
	// Loaded returns the models that take predictions.
	Loaded() []LoadedModel
	// Add loads the model of a folder. The error's kinds: BadInput, Conflict where it is loaded already, NoMemory, Failed
	// and NotReady.
	Add(name, folder string) *protocol.Error
	// Remove returns once the model's processes are gone. The error's kind is Unknown where it is not loaded.
	Remove(name string) *protocol.Error
}

// LoadedModel is a model in the answer to GET /models.
type LoadedModel struct {
	Name string `json:"modelName"`
	URL  string `json:"modelUrl"` // its folder
}

const (
	pathModels = "/models"
	pathModel  = pathModels + "/{name}"
	// modelsPage is how many models an answer lists.
	modelsPage = 100
)

// multi answers the routes of SageMaker's multi-model endpoints.
type multi struct {
	*handlers
	repository Repository
}

// addTo adds the routes to SageMaker's. They replace the native list of models.
func (m multi) addTo(p *protocol.Protocol) {
	for _, r := range []protocol.Route{
		{Method: fasthttp.MethodGet, Path: pathModels, Handle: m.list},
		{Method: fasthttp.MethodPost, Path: pathModels, Handle: m.load},
		{Method: fasthttp.MethodGet, Path: pathModel, Handle: m.show},
		{Method: fasthttp.MethodDelete, Path: pathModel, Handle: m.unload},
		{Method: fasthttp.MethodPost, Path: pathModel + "/invoke", Handle: m.invoke},
	} {
		r.Replaces, r.Document = true, "sagemaker "+r.Path
		p.Routes = append(p.Routes, r)
	}
	p.Owns = func(path string) bool {
		name, ok := strings.CutPrefix(path, pathModels)
		return ok && strings.Count(strings.TrimSuffix(name, "/invoke"), "/") < 2
	}
}

// ping answers GET /ping, also while no model is loaded: SageMaker loads models only where it is 200.
func (m multi) ping(x *protocol.Exchange) {
	if m.repository.Ready() != nil {
		x.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
}

// list answers GET /models.
func (m multi) list(x *protocol.Exchange) {
	sendJSON(x, pageAfter(string(x.QueryArgs().Peek("next_page_token")), m.repository.Loaded()))
}

// modelPage is an answer to GET /models.
type modelPage struct {
	Models []LoadedModel `json:"models"`
	Next   string        `json:"nextPageToken,omitempty"` // the name of the last one
}

// pageAfter returns the models whose names follow a token, in the order of names.
func pageAfter(token string, loaded []LoadedModel) modelPage {
	slices.SortFunc(loaded, func(a, b LoadedModel) int { return strings.Compare(a.Name, b.Name) })
	page := modelPage{Models: []LoadedModel{}}
	for _, model := range loaded {
		switch {
		case model.Name <= token:
		case len(page.Models) == modelsPage:
			page.Next = page.Models[modelsPage-1].Name
			return page
		default:
			page.Models = append(page.Models, model)
		}
	}
	return page
}

// loaded returns the loaded model that the path names.
func (m multi) loaded(x *protocol.Exchange) (LoadedModel, *protocol.Error) {
	name, loaded := x.Param("name"), m.repository.Loaded()
	for _, model := range loaded {
		if model.Name == name {
			return model, nil
		}
	}
	return LoadedModel{}, NotLoaded(name, loaded)
}

// NotLoaded refuses a model that is not among the loaded ones.
func NotLoaded(name string, loaded []LoadedModel) *protocol.Error {
	names := make([]string, len(loaded))
	for i, model := range loaded {
		names[i] = model.Name
	}
	return protocol.Errorf(protocol.Unknown, "model %.100q is not loaded%s", name, nearest.Hint(name, names))
}

func (m multi) show(x *protocol.Exchange) {
	model, err := m.loaded(x)
	if err != nil {
		Refuse(x.RequestCtx, err)
		return
	}
	sendJSON(x, model)
}

// load answers POST /models once the model takes predictions.
func (m multi) load(x *protocol.Exchange) {
	name, folder, err := readLoad(x)
	if err == nil {
		err = m.repository.Add(name, folder)
	}
	if err != nil {
		Refuse(x.RequestCtx, err)
		return
	}
	sendJSON(x, LoadedModel{name, folder})
}

func readLoad(x *protocol.Exchange) (name, folder string, err *protocol.Error) {
	body, err := x.Body()
	if err != nil {
		return "", "", err
	}
	defer body.Release()
	var asked struct {
		Name string `json:"model_name"`
		URL  string `json:"url"`
	}
	if json.Unmarshal(body.Data, &asked) != nil || asked.Name == "" || asked.URL == "" {
		return "", "", bad("the body must be an object with the texts model_name and url")
	}
	if !filepath.IsAbs(asked.URL) {
		return "", "", bad("url %.100q must be the absolute path of a folder that holds a model", asked.URL)
	}
	return asked.Name, filepath.Clean(asked.URL), nil
}

// unload answers DELETE /models/{name} once the model's processes are gone.
func (m multi) unload(x *protocol.Exchange) {
	if err := m.repository.Remove(x.Param("name")); err != nil {
		Refuse(x.RequestCtx, err)
		return
	}
	x.Send(ContentJSON, []byte("{}"))
}

// invoke answers POST /models/{name}/invoke as /invocations.
func (m multi) invoke(x *protocol.Exchange) {
	echoAttributes(x)
	loaded, err := m.loaded(x)
	var model *protocol.Model
	if err == nil {
		model, err = m.models.Find(loaded.Name, "")
	}
	if err == nil {
		err = m.respond(x, model)
	}
	if err != nil {
		Refuse(x.RequestCtx, err)
	}
}

func sendJSON(x *protocol.Exchange, v any) {
	body, err := json.Marshal(v) // strings
	if err != nil {
		Refuse(x.RequestCtx, protocol.Errorf(protocol.Internal, "%v", err))
		return
	}
	x.Send(ContentJSON, body)
}
