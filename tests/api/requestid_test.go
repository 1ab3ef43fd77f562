package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestRequestIDs_InLog: the access log's line, the model's own lines and those about its input name the request.
func TestRequestIDs_InLog(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir:   harness.NewFolder(t, "run.py", "def run(n: int = 1) -> int:\n    print('the model prints')\n    return n\n"),
		Model: "run.py:run", Args: []string{"--access-log=1000"},
	})
	a := s.Do(http.MethodPost, "/predictions", map[string]any{"input": harness.Input{"m": 2}}, "X-Request-Id",
		"id-of-the-client")
	harness.WantCode(t, "the prediction", a, http.StatusOK)
	assert.Equal(t, "the warning", a.Header.Get("Pinion-Warning"), `unknown input "m"; did you mean "n"?`)
	for _, text := range []string{"the model prints", "unknown inputs are dropped", "request"} {
		assert.Eventually(t, "the log's line of "+text, func() bool {
			return slices.ContainsFunc(s.Log.Lines(), func(line harness.Line) bool {
				return line.Text == text && strings.Contains(line.Raw, `"request_id":"id-of-the-client"`)
			})
		})
	}
}

// TestKeysBesideInput_AreNamed: in the answer and in the log, also where the input is refused for what stands beside
// it.
func TestKeysBesideInput_AreNamed(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py",
			"from cog import BasePredictor\nclass Predictor(BasePredictor):\n    def predict(self, n: int, scale: float = 1.0) -> float:\n        return n * scale\n"), Model: "run.py:Predictor",
	})
	for _, c := range []struct {
		body map[string]any
		code int
		want string
	}{
		{
			map[string]any{"input": harness.Input{"n": 2}, "scale": 12.5},
			http.StatusOK,
			`unknown key "scale"; did you mean "scale" in "input"?`,
		},
		{
			map[string]any{"inputs": harness.Input{"n": 2}},
			http.StatusUnprocessableEntity,
			`unknown key "inputs"; did you mean "input"?`,
		},
		{
			map[string]any{"input": harness.Input{"n": 2}, "webhok": "http://127.0.0.1"},
			http.StatusOK,
			`unknown key "webhok"; did you mean "webhook"?`,
		},
		{map[string]any{"input": harness.Input{"n": 2}, "version": "v1", "stream": true}, http.StatusOK, ""},
	} {
		a := s.Do(http.MethodPost, "/predictions", c.body)
		harness.WantCode(t, "the prediction", a, c.code)
		assert.Equal(t, "the warning", a.Header.Get("Pinion-Warning"), c.want)
	}
	assert.Eventually(t, "the log names the keys", func() bool {
		return slices.ContainsFunc(s.Log.Lines(), func(line harness.Line) bool {
			return line.Text == "unknown keys beside input are ignored" && strings.Contains(line.Raw, `"keys":["webhok"]`)
		})
	})
}
