package workers

import (
	"encoding/json"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSubstitutes_LookLikeStandardLibrarys: type, signature, name, module, docstring and pickle of what the SDK
// replaces are those of plain Python, in every kind of worker.
func TestSubstitutes_LookLikeStandardLibrarys(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		var plain map[string][]any
		text := harness.RunPython(t, python.Path, harness.Models(t),
			[]string{"PYTHONPATH=" + harness.Absolute(t, "../pyembed/sdk")},
			"threads_in_async.py")
		harness.FromJSON(t, text, &plain)
		for _, c := range []struct {
			model string
			args  []string
			in    harness.Input
		}{
			{"Sync", nil, harness.Input{}},
			{"Async", nil, harness.Input{"what": "look"}},
			{"Async", []string{"--concurrency", "2"}, harness.Input{"what": "look"}},
		} {
			s := harness.Ready(t, harness.Options{Python: python.Path, Model: "threads_in_async.py:" + c.model, Args: c.args})
			var inside map[string][]any
			s.Succeed(c.in).Decode(t, &inside)
			assert.TrueNow(t, len(plain) >= 10 && len(inside) == len(plain), "got %d places, want %d", len(inside), len(plain))
			for place, want := range plain {
				got, _ := json.Marshal(inside[place])
				harness.EqualJSON(t, c.model+": "+place, got, string(harness.ToJSON(t, want)))
			}
		}
	})
}

// TestThreadsOfAsyncModels_RunInContextOfTheirCreator, and their run is not replaced.
func TestThreadsOfAsyncModels_RunInContextOfTheirCreator(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, args := range [][]string{nil, {"--concurrency", "2"}} {
			s := harness.Ready(t, harness.Options{Python: python.Path, Model: "threads_in_async.py:Async", Args: args})
			a := s.Succeed(harness.Input{})
			assert.Equal(t, "the logs", a.Logs, "to_thread mine\npool mine\nsubclassed mine\ntarget mine\nraw mine\n")
			harness.EqualJSON(t, "run is an attribute of the thread", a.Output, "false")
		}
	})
}
