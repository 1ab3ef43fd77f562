package protocols

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestReplicate_IDsOfSeveralModels: no client gets or cancels another model's prediction of the same id, and each
// version of a model has an id that reaches it.
func TestReplicate_IDsOfSeveralModels(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	dir, _ := harness.ModelFolders(t, map[string]harness.Python{"a": python, "b": python, "one": python, "two": python})
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, "models:\n  a: {path: a}\n  b: {path: b}\n  ocr: {path: one}\n  ocr@2: {path: two}\n")
	s := harness.Start(t, harness.Options{Dir: t.TempDir(), Models: []string{"--config", file}})
	harness.WaitModels(t, s)
	put := func(model, id, text string) harness.Answer {
		return s.Do(http.MethodPut, "/models/"+model+"/predictions/"+id, map[string]any{"input": harness.Input{"text": text}})
	}
	create := func(version, id, text string) harness.Answer {
		return s.Do(http.MethodPost, "/v1/predictions",
			map[string]any{"version": version, "id": id, "input": harness.Input{"text": text}}, "Prefer", "wait")
	}
	get := func(id string) harness.Answer { return s.Do(http.MethodGet, "/v1/predictions/"+id, nil) }
	harness.WantCode(t, "one of a", put("a", "same", "secret"), http.StatusOK)
	harness.WantAnswer(t, "that id at b", create("pinion/b", "same", "mine"), http.StatusConflict, "another model has")
	harness.WantCode(t, "one of b", put("b", "same", "mine"), http.StatusOK)
	both := get("same")
	harness.WantAnswer(t, "an id of both", both, http.StatusConflict, "several models have")
	assert.False(t, strings.Contains(both.String(), "secret"), "got %s, want nothing of either", both)
	canceled := s.Do(http.MethodPost, "/v1/predictions/same/cancel", nil)
	harness.WantCode(t, "a cancel of an id of both", canceled, http.StatusConflict)
	harness.WantCode(t, "one of b's by this API", create("pinion/b", "own", "mine"), http.StatusCreated)
	harness.WantCode(t, "its id at a", put("a", "own", "secret"), http.StatusOK)
	harness.WantAnswer(t, "the one of this API", get("own"), http.StatusOK, "mine")

	var list struct {
		Results []struct{ ID string }
	}
	harness.Decode(t, s.Do(http.MethodGet, "/v1/models/pinion/ocr/versions", nil), &list)
	reached := map[string]bool{}
	for _, v := range list.Results {
		assert.False(t, reached[v.ID], "the id %s is listed twice, want an id for each", v.ID)
		reached[v.ID] = true
		a := create(v.ID, "p"+v.ID[:8], "x")
		var made struct{ Output, Version string }
		assert.NoError(t, json.Unmarshal(a.Body, &made), "read the prediction")
		assert.Equal(t, "the version of the prediction", made.Version, v.ID)
		model, _, _ := strings.Cut(made.Output, " ")
		reached[model] = true
	}
	assert.True(t, len(list.Results) == 3 && reached["one"] && reached["two"],
		"%d ids reach %v, want that of the model and one for each version", len(list.Results), reached)
}
