package protocols

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// ndarrays serves a class of ndarrays.py.
func ndarrays(t *testing.T, class string, python harness.Python) *harness.Server {
	t.Helper()
	harness.NeedModule(t, python, "numpy")
	return harness.Ready(t, harness.Options{Python: python.Path, Model: "ndarrays.py:" + class})
}

// members are those of an answer's output.
func members(t *testing.T, a harness.Answer) map[string]any {
	t.Helper()
	var output map[string]any
	a.Decode(t, &output)
	return output
}

// isJSON compares a value with a JSON text.
func isJSON(t *testing.T, got any, want string) {
	t.Helper()
	var value any
	harness.FromJSON(t, want, &value)
	assert.True(t, reflect.DeepEqual(got, value), "%v, not %s, want %v", got, want, value)
}

func TestNdarrays_InputsThatAreArrays(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, class := range []string{"Sync", "Async", "Batched", "Prepared", "AsyncBatched"} {
			s := ndarrays(t, class, python)
			for x, want := range map[string]string{
				`[1, 2.5, -3e2]`:                   `{"dtype": "float32", "shape": [3], "content": [1, 2.5, -300]}`,
				`[[0.5], [16]]`:                    `{"dtype": "float32", "shape": [2, 1], "content": [[0.5], [16]]}`,
				`[]`:                               `{"dtype": "float32", "shape": [0], "content": []}`,
				`[100000000000000000000000000000]`: `{"dtype": "float32", "shape": [1], "content": [1.0000000150474662e+29]}`,
			} {
				a := s.Succeed(harness.Input{"x": json.RawMessage(x)})
				isJSON(t, members(t, a)["x"], want)
			}
			for x, want := range map[string]string{
				`[[1, 2], [3]]`: `input "x": [1] must have 2 elements, got 1`,
				`[1, "a"]`:      `input "x": [1] must be a number, got 'a'`,
				`[1e39]`:        `input "x": [0] is too large for float32`,
			} {
				a := s.FailInput(harness.Input{"x": json.RawMessage(x)})
				assert.True(t, strings.HasSuffix(a.Error, want), "%s: %s, want it to end in %q", class, a.Error, want)
			}
			harness.WantCode(t, class+": a number instead of a list", s.Input(harness.Input{"x": 5}),
				http.StatusUnprocessableEntity)
		}
	})
}

func TestNdarrays_ArraysOfEveryType(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := ndarrays(t, "Sync", python)
		for in, want := range map[string]string{
			`{}`: `{"any": {"dtype": "int64", "shape": [2], "content": [1, 2]}, "several": []}`,
			`{"any": [[true], [false]], "several": [[1], [2, 3.0]]}`: `{
				"any": {"dtype": "bool", "shape": [2, 1], "content": [[true], [false]]},
				"several": [{"dtype": "int64", "shape": [1], "content": [1]}, {"dtype": "int64", "shape": [2], "content": [2, 3]}]}`,
			`{"any": [1, 0.5], "m": [[0, 255], [1, 2]]}`: `{
				"any": {"dtype": "float64", "shape": [2], "content": [1, 0.5]}, "several": [],
				"m": {"dtype": "uint8", "shape": [2, 2], "content": [[0, 255], [1, 2]]}}`,
		} {
			var fields harness.Input
			harness.FromJSON(t, in, &fields)
			fields["x"] = []int{7}
			for range 2 { // the default is written to, and whole again
				output := members(t, s.Succeed(fields))
				delete(output, "x")
				isJSON(t, output, want)
			}
		}
		for m, want := range map[string]string{
			`[1]`:           `is not of type "array"`,
			`[[0.5]]`:       `is not of type "integer"`,
			`[["1"]]`:       `is not of type "integer"`,
			`[[[1]]]`:       `is not of type "integer"`,
			`[[1], [2, 3]]`: `input "m": [1] must have 1 element, got 2`,
			`[[256]]`:       `input "m": [0][0] must be in the range of uint8, got 256`,
		} {
			a := s.Input(harness.Input{"x": []int{7}, "m": json.RawMessage(m)})
			assert.Contains(t, m, strings.ReplaceAll(string(a.Body), `\"`, `"`), want)
		}
	})
}

// TestNdarrays_LargeArrays: their memory grows while they are read, and large bodies come another way.
func TestNdarrays_LargeArrays(t *testing.T) {
	t.Parallel()
	s := ndarrays(t, "Batched", harness.AnyPython(t))
	for _, n := range []int{1023, 1024, 1025, 100_000, 2_000_000} {
		var body strings.Builder
		fmt.Fprintf(&body, `{"input": {"x": [0.25%s]}}`, strings.Repeat(", 0.25", n-1))
		a := s.Create(json.RawMessage(body.String()))
		x, _ := members(t, a)["x"].(map[string]any)
		isJSON(t, x["shape"], fmt.Sprintf("[%d]", n))
		content, _ := x["content"].([]any)
		assert.True(t, len(content) == n && content[0] == 0.25 && content[n-1] == 0.25,
			"got %d numbers, %.200s, want %d times 0.25", len(content), a.Body, n)
	}
}

// TestNDArrays_ArraysArePredictionsAlone: a train function with a parameter of that name gets what it declares.
func TestNDArrays_ArraysArePredictionsAlone(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	harness.NeedModule(t, python, "numpy")
	s := harness.Ready(t, harness.Options{
		Python: python.Path, Model: "ndarrays.py:Sync", Env: []string{"COG_TRAIN_TYPE_STUB=ndarrays.py:learn"},
	})
	a := s.Do(http.MethodPost, "/trainings", map[string]any{"input": harness.Input{"x": []float64{1, 2}}})
	isJSON(t, members(t, a)["content"], `[1, 2]`)
	isJSON(t, members(t, s.Succeed(harness.Input{"x": []float64{1, 2}}))["x"],
		`{"dtype": "float32", "shape": [2], "content": [1, 2]}`)
}
