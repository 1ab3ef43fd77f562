package openapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pinion/runtime/rawjson"
)

//go:embed server.json
var serverPart []byte

//go:embed predictions.json
var predictionsPart []byte

//go:embed protocols.json
var protocolsPart []byte

// Server describes the server for the document.
type Server struct {
	// Title is the model's name; "" means the document's title does not change.
	Title string
	// Docs, Metrics, Reload and Shutdown mean that the route exists, Models that the server has several models.
	Docs, Metrics, Reload, Shutdown, Models bool
	// Prefix is where the paths are: "/models/NAME"; "" means at the root.
	Prefix string
	// Tokens means that requests require a bearer token, except those to the Public paths.
	Tokens bool
	Public []string
	// Routes are those of the other protocols.
	Routes []Route
}

// Route is a route of another protocol.
type Route struct {
	Method, Path string
	As           string // its path in protocols.json; "" means Path
}

// Complete returns the model's document with the server's additions.
func Complete(model []byte, s Server) ([]byte, error) {
	model = bytes.TrimSpace(model)
	if err := rawjson.Check(model); err != nil {
		return nil, fmt.Errorf("complete the OpenAPI document: %w", err)
	}
	if rawjson.KindOf(model) != rawjson.KindObject {
		return nil, fmt.Errorf("complete the OpenAPI document: not a JSON object")
	}
	document := model
	if title := at(model, "info", "title"); s.Title != "" && (title == nil || string(title) == `"Cog"`) {
		document = put(document, rawjson.AppendQuoted(nil, s.Title), "info", "title")
	}
	for _, k := range []kind{
		{"predictions", "Input", "Output", "PredictionForm"},
		{"trainings", "TrainingInput", "TrainingOutput", "TrainingForm"},
	} {
		if at(model, "paths", "/"+k.plural, "post") != nil {
			document = merge(document, k.part(model))
		}
	}
	document = merge(document, s.part())
	if functions := at(model, "x-cog-functions"); functions != nil {
		var names []string
		for name := range rawjson.Members(functions) {
			names = append(names, rawjson.KeyText(name))
		}
		list, _ := json.Marshal(names) // strings
		document = put(document, list, "x-cog-functions")
	}
	if s.Prefix != "" {
		document = put(document, append(append([]byte(`[{"url":`), rawjson.AppendQuoted(nil, s.Prefix)...), "}]"...),
			"servers")
	}
	protocols := load(protocolsPart)
	for _, r := range s.Routes {
		method := strings.ToLower(r.Method)
		if operation := at(protocols, "paths", cmp.Or(r.As, r.Path), method); operation != nil {
			document = put(document, operation, "paths", r.Path, method)
		}
	}
	if s.Tokens {
		document = s.secure(document)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, document); err != nil {
		return nil, fmt.Errorf("complete the OpenAPI document: %w", err)
	}
	return compact.Bytes(), nil
}

// load returns one of the parts, with its shared values in the places that refer to them.
func load(part []byte) []byte {
	var text bytes.Buffer
	_ = json.Compact(&text, part) // a test loads each
	whole := text.Bytes()
	for name := range rawjson.Members(at(whole, "shared")) {
		value := at(whole, "shared", string(name)) // not the first one: by now others may stand in it
		whole = bytes.ReplaceAll(whole, fmt.Appendf(nil, `{"$ref":"#/shared/%s"}`, name), value)
	}
	return remove(whole, "shared")
}

// part returns the additions of every server, without the routes that this one lacks.
func (s Server) part() []byte {
	part := load(serverPart)
	for path, there := range map[string]bool{
		"/docs": s.Docs, "/docs/about": s.Docs, "/docs/examples/{file}": s.Docs, "/metrics": s.Metrics, "/reload": s.Reload,
		"/shutdown": s.Shutdown, "/models": s.Models, "/models/{name}/traffic": s.Models,
		"/models/{name}":      s.Models,
		"/models/{name}/load": s.Models && s.Reload, "/models/{name}/unload": s.Models && s.Reload,
	} {
		if !there {
			part = remove(part, "paths", path)
		}
	}
	if !s.Models {
		part = remove(part, "components", "schemas", "ServerModel")
		part = remove(part, "components", "schemas", "ServerModels")
		part = remove(part, "components", "schemas", "ServerHealth", "properties", "models")
	}
	return part
}

// secure marks the operations that require a token, and adds their answer 401.
func (s Server) secure(document []byte) []byte {
	document = put(document, []byte(`{"type":"http","scheme":"bearer"}`), "components", "securitySchemes", "bearer")
	unauthorized := []byte(`{"description":"The request has no token, or one that the server does not know","content":` +
		`{"application/json":{"schema":{"$ref":"#/components/schemas/ServerDetail"}}}}`)
	for path, operations := range rawjson.Members(at(document, "paths")) {
		if slices.Contains(s.Public, string(path)) {
			continue
		}
		for method := range rawjson.Members(operations) {
			place := []string{"paths", string(path), string(method)}
			document = put(document, []byte(`[{"bearer":[]}]`), append(place, "security")...)
			document = put(document, unauthorized, append(place, "responses", "401")...)
		}
	}
	return document
}

// kind is one of the two collections of a server.
type kind struct {
	plural string // "predictions"
	input  string // the component of its input
	output string // and of its output
	form   string // the component of a multipart/form-data body
}

// part returns the additions to the routes of a collection. It leaves out media types that the model never answers
// with, because typed clients would list them for each answer.
func (k kind) part(model []byte) []byte {
	part := load(predictionsPart)
	if k.plural == "trainings" {
		part = bytes.ReplaceAll(part, []byte("prediction"), []byte("training"))
		part = bytes.ReplaceAll(part, []byte("Prediction"), []byte("Training"))
		part = bytes.ReplaceAll(part, []byte("/Output"), []byte("/TrainingOutput"))
	}
	streaming := streams(model, k)
	output := at(model, "components", "schemas", k.output)
	file := isURI(output) || isURI(at(output, "items"))
	path := "/" + k.plural + "/{" + strings.TrimSuffix(k.plural, "s") + "_id}"
	for _, route := range [][2]string{{"/" + k.plural, "post"}, {path, "put"}, {path, "get"}} {
		for media, there := range map[string]bool{"text/event-stream": streaming, "application/octet-stream": file} {
			if !there {
				part = remove(part, "paths", route[0], route[1], "responses", "200", "content", media)
			}
		}
	}
	return put(part, formOf(model, k), "components", "schemas", k.form, "properties")
}

// streams reports whether the server sends an output as it comes: if the predict function returns an iterator.
func streams(model []byte, k kind) bool {
	return string(at(model, "paths", "/"+k.plural, "post", "x-cog-streaming")) == "true" ||
		k.plural == "predictions" && string(at(model, "components", "schemas", k.output, "x-cog-array-type")) == `"iterator"`
}

// formOf returns the properties of a multipart/form-data body: files as binary, the other inputs as in JSON.
func formOf(model []byte, k kind) []byte {
	out := at(predictionsPart, "components", "schemas", "PredictionForm", "properties")
	for name, schema := range rawjson.Members(at(model, "components", "schemas", k.input, "properties")) {
		if at(out, string(name)) != nil {
			continue // the request's key takes precedence: such an input cannot be a part
		}
		out = put(out, formField(schema), string(name))
	}
	return out
}

// formField returns the schema of a part: that of the input, with files for URLs.
func formField(schema []byte) []byte {
	binary := []byte(`"binary"`)
	if isURI(schema) {
		return remove(put(schema, binary, "format"), "default")
	}
	if items := at(schema, "items"); isURI(items) {
		return remove(put(schema, put(items, binary, "format"), "items"), "default")
	}
	return schema
}

func isURI(schema []byte) bool {
	return string(at(schema, "type")) == `"string"` && string(at(schema, "format")) == `"uri"`
}
