package config

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/tests/assert"
)

// TestModelsSchema_HasEachKey: the keys that the reader knows, each with what it means.
func TestModelsSchema_HasEachKey(t *testing.T) {
	schema := ModelsSchema()
	of := func(schema map[string]any) map[string]any { return schema["properties"].(map[string]any) }
	entry := of(schema)[keyModels].(map[string]any)["additionalProperties"].(map[string]any)
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"of the file", slices.Sorted(maps.Keys(of(schema))), rootKeys()},
		{"of a model", slices.Sorted(maps.Keys(of(entry))), append(fileWords().Model, keyPath)},
	} {
		slices.Sort(c.want)
		assert.EqualSlices(t, "the keys "+c.what, c.got, c.want)
	}
	for key, value := range of(entry) {
		assert.True(t, value.(map[string]any)["description"] != "", "%s has no description, want one", key)
	}
}

// TestModelsSchema_AgreesWithReader: the schema accepts what the reader accepts, and refuses what that names.
func TestModelsSchema_AgreesWithReader(t *testing.T) {
	schema := compileSchema(t, ModelsSchema())
	for _, c := range []struct {
		text  string
		valid bool
	}{
		{"default: b\nmemory: 20GiB\nmodels:\n  a: {path: a, workers: 2, queue: 7, gpus: \"0;1\", load: on-demand, " +
			"idle-timeout: 10m, memory: 2GiB, preload: true}\n  b: {path: b, validate-output: \"off\"}\n", true},
		{"memory: 1073741824\nmodels: {a: {path: a, gpus: 0, memory: 1024, batch-wait: 5ms}}", true},
		{"x-common: &c {queue: 3}\nmodels: {a: {path: a}}", true},
		{"models: {a@1: {path: a}, a@2: {path: b}}\ntraffic: {a@1: 90, a@2: 10}", true},
		{"models: {a@1: {path: a}, a@2: {path: b}}\nmirror: a@2", true},
		{"models: {a@1: {path: a}, a@2: {path: b}}\nmirror: [a@2]", true},
		{"models: {}", true}, // for SageMaker, which loads models
		{"models: {org/a:7b: {path: a, reload-strategy: stop-first, restart: never, none-defaults: optional}}", true},

		{"modles: {a: {path: a}}", false},
		{"models: {a: {path: a, queu: 1}}", false},
		{"models: {a: {path: a, max-body: 1}}", false},
		{"models: {a: {queue: 1}}", false},
		{"models: {a: a}", false},
		{"models:", false},
		{"default: a", false},
		{"models: {-a: {path: a}}", false},
		{"models: {a: {path: a, queue: many}}", false},
		{"models: {a: {path: a, queue: [1]}}", false},
		{"models: {a: {path: a, load: later}}", false},
		{"models: {a: {path: a, restart: always}}", false},
		{"models: {a: {path: a, reload-strategy: fast}}", false},
		{"models: {a: {path: a, none-defaults: sometimes}}", false},
		{"models: {a: {path: a, preload: perhaps}}", false},
		{"models: {a: {path: a, preload: setup}, b: {path: b, preload: imports}}", true},
		{"models: {a@1: {path: a}, a@2: {path: b}}\ntraffic: {a@1: 190, a@2: 10}", false},
		{"models: {a@1: {path: a}, a@2: {path: b}}\nmirror: {a@2: 1}", false},
	} {
		_, err := readFile(modelFolders(t, c.text), givenFlags(t))
		assert.True(t, (err == nil) == c.valid, "read %s: got %v, want valid: %v", c.text, err, c.valid)
		err = schema.Validate(jsonOf(t, c.text))
		assert.True(t, (err == nil) == c.valid, "the schema of %s: got %v, want valid: %v", c.text, err, c.valid)
	}
}

func compileSchema(t *testing.T, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	assert.NoError(t, compiler.AddResource("schema.json", throughJSON(t, schema)))
	return assert.Must(compiler.Compile("schema.json"))(t)
}

func jsonOf(t *testing.T, text string) any {
	t.Helper()
	documents := assert.Must(usertext.ParseYAML([]byte(text)))(t)
	return throughJSON(t, documents[0].Value())
}

// throughJSON returns a value as JSON has it.
func throughJSON(t *testing.T, value any) (read any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	assert.NoError(t, err)
	return read
}
