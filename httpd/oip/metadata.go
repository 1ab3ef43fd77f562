package oip

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
)

// TensorMetadata describes an input or output.
type TensorMetadata struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// ModelMetadata describes a model.
type ModelMetadata struct {
	Name     string           `json:"name"`
	Versions []string         `json:"versions"`
	Platform string           `json:"platform"`
	Inputs   []TensorMetadata `json:"inputs"`
	Outputs  []TensorMetadata `json:"outputs"`
}

type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// model returns the model of the request's path, and its signature.
func (h *handlers) model(x *protocol.Exchange) (*protocol.Model, *protocol.Signature, *protocol.Error) {
	return Find(h.models, x.Param("model"), x.Param("version"))
}

// Find returns the model of that name and version, and its signature, for a prediction.
func Find(models protocol.Models, name, version string) (*protocol.Model, *protocol.Signature, *protocol.Error) {
	m, err := models.Find(name, version)
	if err != nil {
		return nil, nil, err
	}
	m = m.Chosen()
	s, err := m.Signature()
	return m, s, err
}

// ServerName is the server's name in its metadata.
const ServerName = "pinion"

// Extensions returns the protocol's extensions that the server has.
func Extensions() []string {
	return []string{"binary_tensor_data", "parameters", "model_repository"}
}

func (h *handlers) server(x *protocol.Exchange) {
	encode(x.RequestCtx, struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{ServerName, h.version, Extensions()})
}

// pathStatistics is a path of Triton's that the path of a model matches.
const pathStatistics = "/v2/models/stats"

func (h *handlers) metadata(x *protocol.Exchange) *protocol.Error {
	d, err := Describe(h.models, x.Param("model"), x.Param("version"))
	if err != nil && err.Kind == protocol.Unknown && string(x.Path()) == pathStatistics {
		err = protocol.Errorf(protocol.Unknown,
			"unknown path %s: this server has no extension of statistics; /metrics has its counts", pathStatistics)
	}
	if err != nil {
		return err
	}
	encode(x.RequestCtx, d)
	return nil
}

// Describe describes the model of that name and version. It does not load the model.
func Describe(models protocol.Models, name, version string) (ModelMetadata, *protocol.Error) {
	m, err := models.Find(name, version)
	if err != nil {
		return ModelMetadata{}, err
	}
	s, err := m.Description()
	if err != nil {
		return ModelMetadata{}, err
	}
	return metadata(m, s), nil
}

// metadata describes m, which has the signature s.
func metadata(m *protocol.Model, s *protocol.Signature) ModelMetadata {
	out := ModelMetadata{
		Name: m.Name, Versions: []string{}, Platform: "pinion_python",
		Inputs: []TensorMetadata{},
	}
	for _, version := range m.All() {
		out.Versions = append(out.Versions, version.Version)
	}
	scalars := false
	for i := range s.Inputs {
		v := &s.Inputs[i].Value
		scalars = scalars || isScalar(v)
		out.Inputs = append(out.Inputs, TensorMetadata{s.Inputs[i].Name, taken(v)[0], openShape(inputRank(v))})
	}
	for _, f := range outputFields(s) {
		rank := 1
		if s.Iterator || scalars {
			rank = 0
		}
		for v := f.value; v.Kind == protocol.List; v = v.Item {
			rank++
		}
		if s.Iterator || scalars {
			rank++
		} else if f.value.Kind == protocol.List {
			rank--
		}
		out.Outputs = append(out.Outputs, TensorMetadata{f.name, taken(f.value)[0], openShape(rank)})
	}
	return out
}

// inputRank returns the rank of an input's tensor; 1 if it is open.
func inputRank(v *protocol.Value) int {
	item := leaf(v)
	if item.Kind == protocol.Array && item.Rank == 0 {
		return 1
	}
	return max(depth(v)+item.Rank, 1)
}

func (h *handlers) modelReady(x *protocol.Exchange) *protocol.Error {
	m, err := h.models.Find(x.Param("model"), x.Param("version"))
	if err != nil {
		return err
	}
	ready := m.Ready() == nil
	encode(x.RequestCtx, struct {
		Name  string `json:"name"`
		Ready bool   `json:"ready"`
	}{m.Name, ready})
	if !ready {
		x.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	return nil
}

func (h *handlers) index(x *protocol.Exchange) *protocol.Error {
	body, err := x.Body()
	if err != nil {
		return err
	}
	var asked struct {
		Ready bool `json:"ready"`
	}
	if len(body.Data) > 0 && json.Unmarshal(body.Data, &asked) != nil {
		err = bad("the body must be an object with ready")
	}
	body.Release()
	if err != nil {
		return err
	}
	list := []indexEntry{}
	for _, m := range h.models.List() {
		for _, version := range m.All() {
			if state := version.State(); !asked.Ready || state.Name == protocol.StateReady {
				list = append(list, indexEntry{m.Name, version.Version, state.Name, state.Reason})
			}
		}
	}
	encode(x.RequestCtx, list)
	return nil
}

// load answers once the model is loaded.
func (h *handlers) load(x *protocol.Exchange) *protocol.Error {
	return h.change(x, func(m *protocol.Model, parameters []string) *protocol.Error {
		if err := CheckLoad(parameters); err != nil {
			return err
		}
		return m.LoadFor(x.MayControl())
	})
}

// unload answers once the processes of the model are gone.
func (h *handlers) unload(x *protocol.Exchange) *protocol.Error {
	return h.change(x, func(m *protocol.Model, _ []string) *protocol.Error { return m.UnloadFor(x.MayControl()) })
}

// CheckLoad refuses parameters of a load that replace parts of the model.
func CheckLoad(parameters []string) *protocol.Error {
	for _, name := range parameters {
		if name == "config" || strings.HasPrefix(name, "file:") {
			return bad("parameter %.100q is not supported: a model is loaded as its folder has it", name)
		}
	}
	return nil
}

// change answers POST of a model in the repository. Triton's parameters are checked by their names alone.
func (h *handlers) change(x *protocol.Exchange, do func(*protocol.Model, []string) *protocol.Error) *protocol.Error {
	m, err := h.models.Find(x.Param("model"), "")
	var parameters []string
	if err == nil {
		parameters, err = repositoryParameters(x)
	}
	if err == nil {
		err = do(m, parameters)
	}
	if err != nil {
		return err
	}
	answer(x.RequestCtx, fasthttp.StatusOK, "{}")
	return nil
}

// repositoryParameters returns the names of the request's parameters. Clients may send no body.
func repositoryParameters(x *protocol.Exchange) (names []string, err *protocol.Error) {
	body, err := x.Body()
	if err != nil {
		return nil, err
	}
	defer body.Release()
	var asked struct {
		Parameters map[string]json.RawMessage `json:"parameters"`
	}
	if len(body.Data) > 0 && json.Unmarshal(body.Data, &asked) != nil {
		return nil, bad("the body must be an object with parameters, which is an object")
	}
	return slices.Collect(maps.Keys(asked.Parameters)), nil
}

func encode(ctx *fasthttp.RequestCtx, v any) {
	body, err := json.Marshal(v) // strings and numbers
	if err != nil {
		refuse(ctx, protocol.Errorf(protocol.Internal, "%v", err))
		return
	}
	answer(ctx, fasthttp.StatusOK, string(body))
}
