package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// askFunction asks a function of the model.
func askFunction(s *harness.Server, name string, in harness.Input, headers ...string) harness.Answer {
	return s.Do(http.MethodPost, "/functions/"+name+"/predictions", map[string]any{"input": in}, headers...)
}

// wantRaw fails unless a prediction has succeeded with this output, as JSON.
func wantRaw(t *testing.T, what string, a harness.Answer, output string) {
	t.Helper()
	assert.True(t, a.Status == "succeeded" && string(a.Output) == output, "%s: got %s, want %s", what, a, output)
}

// TestFunctions_ShareObject: each is a native API over the model's object, however the model runs.
func TestFunctions_ShareObject(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, model := range []string{
			"Sync", "Threads", "NoRun", "Batched", "Staged", "OnlyFunctionBatched", "Async", "AsyncBatched",
		} {
			for _, args := range [][]string{nil, {"--preload=setup"}} {
				t.Run(strings.Join(append([]string{model}, args...), " "), func(t *testing.T) {
					t.Parallel()
					s := harness.Ready(t, harness.Options{Python: python.Path, Model: "functions.py:" + model, Args: args})
					wantRaw(t, "embed", askFunction(s, "embed", harness.Input{"texts": []string{"ab", "c"}}), `[2,1]`)
					wantRaw(t, "search", askFunction(s, "search-v2", harness.Input{"q": "x"}), `["x0","x1"]`)
					seen := askFunction(s, "seen", nil)
					assert.True(t, strings.Contains(string(seen.Output), `"embed"`), "seen has %s, want the call of embed", seen)
					events := askFunction(s, "words", harness.Input{"text": "a b"}, "Accept", "text/event-stream")
					assert.Equal(t, "outputs of a stream", strings.Count(string(events.Body), "event: output"), 2)
					harness.WantFailed(t, "fail", askFunction(s, "fail", harness.Input{"secret": "hush"}), "as asked")
					if model != "NoRun" {
						want := "AB"
						if strings.Contains(model, "Batched") && model[0] != 'O' {
							want = "ab of 1"
						} else if model == "Staged" {
							want = "ab! of 1"
						}
						assert.Equal(t, "run answers", s.Succeed(harness.Input{"text": "ab"}).Text(t), want)
					}
					if strings.HasSuffix(model, "Batched") || model == "Staged" {
						a := askFunction(s, "count", harness.Input{"text": "abc", "scale": 2})
						assert.Equal(t, "count answers", a.Text(t), "6 of 1")
					}
				})
			}
		}
	})
}

// TestFunctions_RefuseByOwnSchema: 422 names the function's inputs; 404 names the functions.
func TestFunctions_RefuseByOwnSchema(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "functions.py:Sync"})
	for _, c := range []struct {
		method, path string
		body         any
		code         int
		text         string
	}{
		{http.MethodPost, "/functions/search-v2/predictions", map[string]any{"input": harness.Input{"text": "x"}}, 422, `"q"`},
		{http.MethodPost, "/functions/search-v2/predictions", map[string]any{"input": harness.Input{"q": "x", "k": 10}}, 422, `"k"`},
		{
			http.MethodPost, "/functions/serch/predictions", nil, 404,
			`This model has no function \"serch\". It has embed, fail, length, predict, search-v2, seen, words`,
		},
		{http.MethodGet, "/functions/serch/openapi.json", nil, 404, "It has embed"},
		{http.MethodGet, "/functions/run/predictions/x", nil, 404, "It has embed"},
		{http.MethodGet, "/functions/embed/trainings/x", nil, 404, "Not Found"},
		{http.MethodGet, "/functions/embed/functions/seen/openapi.json", nil, 404, "Not Found"},
		{http.MethodDelete, "/functions/embed/predictions", nil, 405, "Method Not Allowed"},
	} {
		a := s.Do(c.method, c.path, c.body)
		harness.WantAnswer(t, c.method+" "+c.path, a, c.code, c.text)
	}
	alone := harness.Ready(t, harness.Options{Model: "functions.py:NoRun"})
	harness.WantAnswer(t, "a model without run", alone.Input(harness.Input{"text": "x"}), 404,
		"This model has no run(), only functions: ask /functions/embed/predictions or /functions/fail/predictions")
}

// TestFunctions_HaveOwnIDs: one id in two functions is two predictions, and none sees the other.
func TestFunctions_HaveOwnIDs(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "functions.py:Sync", Args: []string{"--replay-puts"}})
	put := func(path, input string) harness.Answer {
		return s.Do(http.MethodPut, path+"/predictions/same", json.RawMessage(`{"input":`+input+`}`))
	}
	wantRaw(t, "embed", put("/functions/embed", `{"texts":["ab"]}`), `[2]`)
	for _, path := range []string{"", "/functions/search-v2", "/functions/seen"} {
		harness.WantCode(t, "GET of another's id at "+path, s.Do(http.MethodGet, path+"/predictions/same", nil), 404)
		harness.WantCode(t, "cancel of another's id at "+path, s.Do(http.MethodPost, path+"/predictions/same/cancel", nil), 404)
	}
	wantRaw(t, "run", put("", `{"text":"ab"}`), `"AB"`)
	wantRaw(t, "search", put("/functions/search-v2", `{"q":"x","k":1}`), `["x0"]`)
	wantRaw(t, "embed again", put("/functions/embed", `{"texts":["ab"]}`), `[2]`)
	wantRaw(t, "embed, kept", s.Do(http.MethodGet, "/functions/embed/predictions/same", nil), `[2]`)
	a := s.Do(http.MethodPut, "/functions/fail/predictions/same", json.RawMessage(`{"input":{"secret":"hush"}}`))
	harness.WantFailed(t, "fail", a, "as asked")
	kept := s.Do(http.MethodGet, "/functions/fail/predictions/same", nil)
	assert.False(t, strings.Contains(string(kept.Body), "hush"), "the secret of a function is shown: %s", kept)
	calls := askFunction(s, "seen", nil)
	assert.Equal(t, "embed has run", strings.Count(string(calls.Output), `"embed"`), 1)
}

// TestFunctions_CancelAndFiles: a cancel ends a function's prediction, asynchronous ones are found by id, and files go
// both ways.
func TestFunctions_CancelAndFiles(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "functions.py:Sync"})
	path := "/functions/embed/predictions/slow"
	a := s.Do(http.MethodPut, path, json.RawMessage(`{"input":{"texts":[],"wait":60}}`), "Prefer", "respond-async")
	harness.WantCode(t, "an asynchronous prediction", a, 202)
	assert.Eventually(t, "it begins", func() bool { return s.Do(http.MethodGet, path, nil).Status == "processing" })
	harness.WantCode(t, "cancel", s.Do(http.MethodPost, path+"/cancel", nil), 200)
	assert.Eventually(t, "it is canceled", func() bool { return s.Do(http.MethodGet, path, nil).Status == "canceled" })
	a = askFunction(s, "length", harness.Input{"file": "data:text/plain;base64,YWJj"})
	wantRaw(t, "length", a, `"data:text/plain;base64,Mw=="`)
}

// TestFunctions_Batches: a batch never mixes functions, and each has its own largest size.
func TestFunctions_Batches(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"Batched", "Staged", "AsyncBatched"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "functions.py:" + model, Args: []string{"--queue", "64"}})
			answers := make(chan harness.Answer, 32)
			for i := range 16 {
				go func() { answers <- s.Input(harness.Input{"text": fmt.Sprint("n", i)}) }()
				go func() { answers <- askFunction(s, "count", harness.Input{"text": "abc"}) }()
			}
			sizes := map[string]int{}
			for range 32 {
				var function, of string
				var size int
				text := harness.Receive(t, answers).Text(t)
				_, err := fmt.Sscanf(text, "%s %s %d", &function, &of, &size)
				assert.NoError(t, err, "read", text)
				if function = strings.TrimSuffix(function, "!"); function != "3" || strings.Contains(text, "!") {
					function = "run"
				}
				sizes[function] = max(sizes[function], size)
			}
			assert.True(t, sizes["3"] == 2 && sizes["run"] > 2 && sizes["run"] <= 4,
				"the largest batches are %v, want 2 of count and 3 or 4 of run", sizes)
		})
	}
}

// TestFunctions_Documents: each has its own OpenAPI document, and that of the model names them.
func TestFunctions_Documents(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "functions.py:Sync"})
	var root struct {
		Functions []string `json:"x-cog-functions"`
	}
	harness.Decode(t, s.Do(http.MethodGet, "/openapi.json", nil), &root)
	slices.Sort(root.Functions)
	assert.EqualSlices(t, "functions", root.Functions,
		[]string{"embed", "fail", "length", "predict", "search-v2", "seen", "words"})
	var own struct {
		Info       struct{ Title, Description string }
		Servers    []struct{ URL string }
		Components struct {
			Schemas map[string]struct{ Required []string }
		}
	}
	harness.Decode(t, s.Do(http.MethodGet, "/functions/embed/openapi.json", nil), &own)
	assert.Equal(t, "the title", own.Info.Title, "embed")
	assert.Equal(t, "the description", own.Info.Description, "Return the length of each text.")
	assert.Equal(t, "the server", own.Servers[0].URL, "/functions/embed")
	assert.EqualSlices(t, "required inputs", own.Components.Schemas["Input"].Required, []string{"texts"})
}
