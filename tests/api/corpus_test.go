package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// The corpus is a folder of small models, each of which does a thing that real models do. Beside each stands case.json,
// which says what is asked of it and what it answers, and schema.json, what its schema is to be. PINION_UPDATE_GOLDEN=1
// writes the schemas anew.
const corpus = "models/corpus"

// corpusMinimum is how many models the corpus has at least.
const corpusMinimum = 80

// variant is an interpreter with a set of packages.
type variant struct {
	name   string
	python string
	has    func(module string) bool
}

func TestCorpus_Models(t *testing.T) {
	t.Parallel()
	cases := corpusCases(t)
	pythons := harness.Pythons(t)
	minors := map[int]bool{}
	for _, python := range pythons {
		if minors[python.Minor] {
			continue // 3.11.2 and 3.11.7 do not differ for these models
		}
		minors[python.Minor] = true
		t.Run(python.Name(), func(t *testing.T) {
			t.Parallel()
			for _, v := range variants(t, python) {
				t.Run(v.name, func(t *testing.T) {
					for i, c := range cases {
						// A short run serves every fifth model without the usual packages, and those that need pydantic.
						if c.Venv != "" || v.name != usual && !harness.IsFull() && i%5 != 0 && !c.needs("pydantic") {
							continue
						}
						c.run(t, v)
					}
				})
			}
		})
	}
}

// TestCorpus_OfInferenceLibraries serves the models whose libraries are too large to be installed for every Python.
func TestCorpus_OfInferenceLibraries(t *testing.T) {
	t.Parallel()
	python := modelsPython(t)
	for _, c := range corpusCases(t) {
		if c.Venv == "models" {
			c.run(t, variant{"models", python, moduleFinder(t, python)})
		}
	}
}

// usual is the variant in which every model is served by every Python.
const usual = "pydantic 2"

// variants are one interpreter with pydantic 2, with pydantic 1, and with nothing installed.
func variants(t *testing.T, python harness.Python) []variant {
	t.Helper()
	found := []variant{{usual, python.Path, moduleFinder(t, python.Path)}}
	old := filepath.Dir(filepath.Dir(python.Path)) + "-pydantic1/bin/python"
	if _, err := os.Stat(old); err == nil {
		found = append(found, variant{"pydantic 1", old, moduleFinder(t, old)})
	} else if got := os.Getenv("PINION_TEST_PYTHONS"); got != "" {
		t.Errorf("there is no environment with pydantic 1: %v: got %q, want none", err, got)
	}
	bare := harness.Venv(t, python)
	return append(found, variant{"no pydantic", bare, moduleFinder(t, bare)})
}

// modelsPython is the interpreter that has the libraries of tests/requirements-models.txt.
func modelsPython(t *testing.T) string { return harness.Tool(t, "venvs/models/bin/python") }

// optionalModules are those that cases name as needed.
var optionalModules = []string{"PIL", "aiohttp", "anyio", "httpx", "numpy", "onnxruntime", "pydantic", "tqdm"}

// moduleFinder asks an interpreter once which of the modules it has.
func moduleFinder(t *testing.T, python string) func(string) bool {
	t.Helper()
	code := "import importlib.util as u, json, sys; print(json.dumps([m for m in sys.argv[1:] if u.find_spec(m)]))"
	out := harness.RunPython(t, python, t.TempDir(), nil, append([]string{"-c", code}, optionalModules...)...)
	var found []string
	harness.FromJSON(t, out, &found)
	return func(module string) bool { return slices.Contains(found, module) }
}

// corpusCases reads all cases, and fails where a model has none.
func corpusCases(t *testing.T) []*corpusCase {
	t.Helper()
	cases := assert.Must(readCorpus())(t)
	assert.True(t, len(cases) >= corpusMinimum, "the corpus has %d models, want %d", len(cases), corpusMinimum)
	return cases
}

var readCorpus = sync.OnceValues(func() ([]*corpusCase, error) {
	folders, err := os.ReadDir(corpus)
	if err != nil {
		return nil, err
	}
	var cases []*corpusCase
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		c, err := readCase(folder.Name())
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
})

// TestCorpus_SchemasAreComplete: every model has its schema in the corpus, but those that have none to show.
func TestCorpus_SchemasAreComplete(t *testing.T) {
	t.Parallel()
	for _, c := range corpusCases(t) {
		_, err := os.Stat(filepath.Join(corpus, c.name, "schema.json"))
		if fails := c.Health != ""; fails == (err == nil) {
			t.Errorf("%s: schema.json: %v; the model is set up: %v, want anything but %t", c.name, err, !fails, err == nil)
		}
	}
}

// checkSchema compares what the document says of this model with its golden file.
func (c *corpusCase) checkSchema(t *testing.T, s *harness.Server) {
	t.Helper()
	a := s.Do("GET", "/openapi.json", nil)
	harness.WantCode(t, "schema", a, 200)
	var document struct {
		Paths      map[string]map[string]map[string]any `json:"paths"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(a.Body, &document); err != nil {
		t.Error(err)
		return
	}
	for name := range document.Components.Schemas {
		if fixedSchemas[name] {
			delete(document.Components.Schemas, name)
		}
	}
	shown := map[string]any{"schemas": document.Components.Schemas}
	if streaming, ok := document.Paths["/predictions"]["post"]["x-cog-streaming"]; ok {
		shown["x-cog-streaming"] = streaming
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	assert.NoError(t, encoder.Encode(shown))
	golden := filepath.Join(corpus, c.name, "schema.json")
	if os.Getenv("PINION_UPDATE_GOLDEN") == "1" {
		harness.WriteFile(t, golden, text.String())
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Error(err)
		return
	}
	assert.Equal(t, "the schema", text.String(), string(want))
}

// fixedSchemas are the same in every document, or say nothing of the model's own.
var fixedSchemas = map[string]bool{
	"PredictionRequest": true, "PredictionResponse": true, "Status": true, "HTTPValidationError": true,
	"ValidationError": true,
	"TrainingRequest": true, "TrainingResponse": true, "TrainingInput": true, "TrainingOutput": true,
	"PredictionForm": true, "TrainingForm": true, "PredictionState": true, "TrainingState": true,
	"ServerDetail": true, "ServerDiscovery": true, "ServerError": true, "ServerHealth": true, "ServerRefusal": true,
}
