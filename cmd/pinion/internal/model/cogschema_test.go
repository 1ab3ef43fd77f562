package model

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/tests/assert"
)

func TestCogSchema_DescribesEachKey(t *testing.T) {
	places := map[string]bool{}
	var walk func(schema map[string]any, place string)
	walk = func(schema map[string]any, place string) {
		if place != "" {
			places[place] = true
			assert.False(t, schema["description"] == nil && place[len(place)-1] != ']', "%s has no description, want ']'", place)
		}
		if properties, ok := schema["properties"].(map[string]any); ok {
			for key, value := range properties {
				next := key
				if place != "" {
					next = place + "." + key
				}
				walk(value.(map[string]any), next)
			}
		}
		if items, ok := schema["items"].(map[string]any); ok {
			walk(items, place+"[]")
		}
	}
	walk(CogSchema(), "")
	for _, place := range slices.Sorted(maps.Keys(cogKeyHelp())) {
		assert.True(t, places[place], "%s is described, and is not a key, want places[place] true", place)
	}
}

// TestCogSchema_AgreesWithCheck: the schema accepts what 'pinion check' accepts, and refuses what it names.
func TestCogSchema_AgreesWithCheck(t *testing.T) {
	schema := compileCogSchema(t)
	examples, err := filepath.Glob("../../../../examples/*/cog.yaml")
	assert.TrueNow(t, err == nil && len(examples) >= 3, "got examples %v, %v, want at least 3", examples, err)
	for _, path := range examples {
		text, err := os.ReadFile(path)
		assert.NoError(t, err)
		err = validateYAML(t, schema, string(text))
		assert.True(t, err == nil, "%s: got %v, want none", path, err)
	}
	for _, c := range []struct {
		text  string
		valid bool
	}{
		{"run: run.py:Runner", true},
		{"build:\n  python_version: \"3.12\"\n  run:\n    - echo\n    - {command: make, mounts: [{type: cache, id: a, target: /b}]}", true},
		{"weights:\n  - {name: base, target: weights/base, source: [hf://a/b, {uri: hf://c/d, include: [\"*.bin\"]}]}", true},
		{"concurrency: {max: 4}", true},
		{"build:", true},
		{"rn: run.py:Runner", false},
		{"build: {gpu: maybe}", false},
		{"build: {run: [{comand: make}]}", false},
		{"concurrency: 4", false},
		{"none_defaults: sometimes", false},
		{"observability: {traces: {sampler: now}}", false},
	} {
		err := validateYAML(t, schema, c.text)
		assert.True(t, (err == nil) == c.valid, "%s: got %v, want valid: %v", c.text, err, c.valid)
	}
}

func compileCogSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text := assert.Must(json.Marshal(CogSchema()))(t)
	var document any
	assert.NoError(t, json.Unmarshal(text, &document))
	compiler := jsonschema.NewCompiler()
	assert.NoError(t, compiler.AddResource("cog.json", document))
	return assert.Must(compiler.Compile("cog.json"))(t)
}

func validateYAML(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	documents := assert.Must(usertext.ParseYAML([]byte(text)))(t)
	encoded := assert.Must(json.Marshal(documents[0].Value()))(t)
	var value any
	assert.NoError(t, json.Unmarshal(encoded, &value))
	return schema.Validate(value)
}
