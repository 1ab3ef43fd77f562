package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

var fullServer = Server{Title: "painter", Docs: true, Metrics: true, Reload: true, Shutdown: true}

// documents returns the documents that the SDK makes, as Cog does: streaming, without, with trainings, with nothing
// else.
func documents(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../pyembed/sdk/tests/golden/documents/*.json")
	assert.TrueNow(t, err == nil && len(files) >= 4, "%v: %q, want at least 4", err, files)
	out := map[string][]byte{}
	for _, file := range files {
		text := assert.Must(os.ReadFile(file))(t)
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = text
	}
	return out
}

func complete(t *testing.T, model []byte, s Server) []byte {
	t.Helper()
	return assert.Must(Complete(model, s))(t)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	err := json.Unmarshal(text, &v)
	assert.TrueNow(t, err == nil, "got %v, want no error in %s", err, text)
	return v
}

// TestOpenapi_WhatModelSaysStays: a reader of Cog's document finds everything of it in ours.
func TestOpenapi_WhatModelSaysStays(t *testing.T) {
	for name, model := range documents(t) {
		before, after := decode(t, model), decode(t, complete(t, model, fullServer))
		before["info"].(map[string]any)["title"] = "painter"
		holds(t, name, before, after)
	}
}

// holds fails unless all that is in before is in after.
func holds(t *testing.T, place string, before, after any) {
	t.Helper()
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for key, value := range b {
			holds(t, place+"/"+key, value, a[key])
		}
	case []any:
		a, _ := after.([]any)
		if !strings.HasSuffix(place, "/parameters") && len(a) != len(b) || len(a) < len(b) {
			t.Errorf("%s: %v became %v, want what was there, and more", place, before, after)
			return
		}
		for i := range b {
			holds(t, place, b[i], a[i])
		}
	default:
		assert.True(t, reflect.DeepEqual(before, after), "%s: %v became %v, want the same", place, before, after)
	}
}

func TestOpenapi_CompleteDocumentStays(t *testing.T) {
	for name, model := range documents(t) {
		once := complete(t, model, fullServer)
		twice := complete(t, once, fullServer)
		assert.True(t, bytes.Equal(once, twice), "%s: it became %s: got %q, want %q", name, twice, once, twice)
		named := complete(t, bytes.Replace(model, []byte(`"Cog"`), []byte(`"its own"`), 1), fullServer)
		assert.Equal(t, name+": the title", string(at(named, "info", "title")), `"its own"`)
	}
}

// TestOpenapi_EveryReferenceLeadsSomewhere: and every operation has an id, and they differ.
func TestOpenapi_EveryReferenceLeadsSomewhere(t *testing.T) {
	for name, model := range documents(t) {
		whole := decode(t, complete(t, model, fullServer))
		schemas := whole["components"].(map[string]any)["schemas"].(map[string]any)
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				if ref, ok := v["$ref"].(string); ok && schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
					t.Errorf("%s: %s leads nowhere", name, ref)
				}
				for _, inner := range v {
					walk(inner)
				}
			case []any:
				for _, inner := range v {
					walk(inner)
				}
			}
		}
		walk(whole)
		ids := map[string]string{}
		for path, operations := range whole["paths"].(map[string]any) {
			for method, operation := range operations.(map[string]any) {
				id, _ := operation.(map[string]any)["operationId"].(string)
				assert.True(t, ids[id] == "" && id != "",
					"%s: %s %s and %s have the id %q, want ids[id] empty and id non-empty", name, method, path, ids[id], id)
				ids[id] = method + " " + path
			}
		}
	}
}

func TestOpenapi_RoutesAndMediaTypesAreThoseOfThisServer(t *testing.T) {
	models := documents(t)
	create := []string{"paths", "/predictions", "post", "responses"}
	stream := append(create, "200", "content", "text/event-stream")
	for _, c := range []struct {
		model string
		s     Server
		path  []string
		want  bool
	}{
		{"prediction", fullServer, []string{"paths", "/reload"}, true},
		{"prediction", Server{}, []string{"paths", "/reload"}, false},
		{"prediction", Server{}, []string{"paths", "/metrics"}, false},
		{"prediction", Server{}, []string{"paths", "/readyz"}, true},
		{"prediction", fullServer, []string{"paths", "/trainings/{training_id}"}, false},
		{"training", fullServer, []string{"paths", "/predictions/{prediction_id}"}, false},
		{"training", fullServer, []string{"paths", "/trainings/{training_id}", "get", "responses", "404"}, true},
		{"training", fullServer, []string{"components", "schemas", "TrainingForm", "properties"}, true},
		{"both", fullServer, []string{"paths", "/trainings", "post", "responses", "429"}, true},
		{
			"both", fullServer,
			[]string{"paths", "/trainings", "post", "responses", "200", "content", "text/event-stream"},
			false,
		},
		{"prediction", fullServer, stream, false},
		{"streaming", fullServer, stream, true},
		{"streaming", fullServer, []string{
			"paths", "/predictions/{prediction_id}", "put", "responses", "200", "content", "text/event-stream",
		}, true},
	} {
		whole := complete(t, models[c.model], c.s)
		assert.Equal(t, fmt.Sprintf("%s, %+v: %q is there", c.model, c.s, c.path), at(whole, c.path...) != nil, c.want)
	}
	whole := complete(t, models["prediction"], fullServer)
	for _, code := range []string{
		"200", "202", "400", "403", "406", "408", "409", "413", "415", "422", "429", "500", "502", "503",
	} {
		assert.True(t, at(whole, append(create, code)...) != nil, "a prediction lacks the status %s", code)
	}
	for _, media := range []string{"application/json", "application/msgpack", "multipart/form-data"} {
		assert.True(t, at(whole, "paths", "/predictions", "post", "requestBody", "content", media, "schema") != nil,
			"a request lacks the type %s", media)
	}
}

// TestOpenapi_OnlyFileIsAnsweredAsFile: the output itself can be asked for where it may be a file.
func TestOpenapi_OnlyFileIsAnsweredAsFile(t *testing.T) {
	const uri = `{"type":"string","format":"uri"}`
	for output, want := range map[string]bool{
		uri: true, `{"type":"array","items":` + uri + `}`: true, `{"type":"string"}`: false, `{"type":"object"}`: false,
	} {
		model := []byte(`{"paths":{"/predictions":{"post":{}}},"components":{"schemas":{"Output":` + output + `}}}`)
		for _, route := range [][2]string{
			{"/predictions", "post"},
			{"/predictions/{prediction_id}", "put"},
			{"/predictions/{prediction_id}", "get"},
		} {
			content := at(complete(t, model, fullServer), "paths", route[0], route[1], "responses", "200", "content")
			if got := at(content, "application/octet-stream") != nil; got != want || at(content, "application/msgpack") == nil {
				t.Errorf("%s, %s: %s, want %t and at non-nil", output, route, content, want)
			}
		}
	}
}

// TestOpenapi_FormHasFiles: an input that takes a URL is a file there; one that is called as a key of a request is left
// out.
func TestOpenapi_FormHasFiles(t *testing.T) {
	model := []byte(`{"paths":{"/predictions":{"post":{}}},"components":{"schemas":{"Input":{"properties":{
		"image":{"title":"Image","type":"string","format":"uri","default":"https://x/y.png"},
		"others":{"type":"array","items":{"type":"string","format":"uri"}},
		"steps":{"type":"integer","example":7},
		"webhook":{"type":"integer"}}}}}}`)
	got := at(complete(t, model, fullServer), "components", "schemas", "PredictionForm", "properties")
	for key, want := range map[string]string{
		"image":   `{"title":"Image","type":"string","format":"binary"}`,
		"others":  `{"type":"array","items":{"type":"string","format":"binary"}}`,
		"steps":   `{"type":"integer","example":7}`,
		"webhook": `{"title": "Webhook", "type": "string", "format": "uri"}`,
	} {
		var a, b any
		if json.Unmarshal(at(got, key), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s is %s, want %s", key, at(got, key), want)
		}
	}
}

func TestOpenapi_WhatIsNoDocumentIsRefused(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"a":1} x`} {
		whole, err := Complete([]byte(text), fullServer)
		assert.True(t, err != nil, "%q became %s", text, whole)
	}
}

// TestOpenapi_TokensAreSecurityScheme: operations that want a token say so, and what they answer without one.
func TestOpenapi_TokensAreSecurityScheme(t *testing.T) {
	model := documents(t)["both"]
	tokens := fullServer
	tokens.Tokens, tokens.Public = true, []string{"/livez", "/docs"}
	for _, c := range []struct {
		s      Server
		path   []string
		wanted bool
	}{
		{fullServer, []string{"/predictions", "post"}, false},
		{tokens, []string{"/predictions", "post"}, true},
		{tokens, []string{"/trainings/{training_id}", "get"}, true},
		{tokens, []string{"/metrics", "get"}, true},
		{tokens, []string{"/livez", "get"}, false},
		{tokens, []string{"/docs", "get"}, false},
	} {
		whole := complete(t, model, c.s)
		operation := at(whole, append([]string{"paths"}, c.path...)...)
		assert.Equal(t, fmt.Sprintf("%q", c.path),
			at(operation, "security") != nil && at(operation, "responses", "401") != nil, c.wanted)
		assert.Equal(t, "the scheme is there", at(whole, "components", "securitySchemes", "bearer") != nil, c.s.Tokens)
	}
}

// TestOpenapi_SharedValuesStandInTheirPlaces: also those that other shared values refer to.
func TestOpenapi_SharedValuesStandInTheirPlaces(t *testing.T) {
	for name, part := range map[string][]byte{
		"server": serverPart, "predictions": predictionsPart,
		"protocols": protocolsPart,
	} {
		whole := decode(t, load(part))
		if _, ok := whole["shared"]; ok || whole["paths"] == nil {
			t.Errorf(`%s.json has the members %v: got ok %t, want ok false and whole["paths"] non-nil`, name,
				slices.Collect(maps.Keys(whole)), ok)
		}
		if at := bytes.Index(load(part), []byte("#/shared/")); at >= 0 {
			t.Errorf("%s.json: got the placeholder %.60s, want a value", name, load(part)[at:])
		}
		for value := range rawjson.Members(at(part, "shared")) {
			ref := fmt.Sprintf(`"#/shared/%s"`, value)
			assert.True(t, bytes.Count(part, []byte(ref)) >= 2, "%s.json: %s stands in fewer than two places, want at least 2", name, ref)
		}
	}
}
