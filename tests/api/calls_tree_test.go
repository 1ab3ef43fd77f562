package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// shownCall is a call as GET of its caller's prediction shows it.
type shownCall struct {
	Model, ID, Status, Error string
	Seconds                  float64
	Calls                    []shownCall
}

// treeOf writes calls as MODEL STATUS, with their own in brackets.
func treeOf(calls []shownCall) string {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = c.Model + " " + c.Status
		if len(c.Calls) > 0 {
			parts[i] += " (" + treeOf(c.Calls) + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// waitingModel calls the models of a path, one below the other; the last one waits for its gate.
const waitingModel = `
import cog

def run(path: list[str], gate: bool = False, fail: str = "") -> str:
    if path:
        return cog.call(path[0], path=path[1:], gate=gate, fail=fail)
    if gate:
        open("gate").read()
    if fail:
        raise ValueError(fail)
    return "end"
`

// TestCallsTree_IsShown by GET of the caller's prediction while it runs and after its end, and by the live view.
func TestCallsTree_IsShown(t *testing.T) {
	t.Parallel()
	code, keys := map[string]string{}, map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		code[name], keys[name] = waitingModel, ", predictor: run.py:run"
	}
	s, dir := callingModels(t, code, keys, harness.Options{Args: []string{"--queue", "4"}})
	open := harness.MakeFIFO(t, filepath.Join(dir, "c"), "gate")
	put := func(id string, in harness.Input) {
		t.Helper()
		a := s.Do(http.MethodPut, "/models/a/predictions/"+id, map[string]any{"input": in}, "Prefer", "respond-async")
		harness.WantCode(t, "PUT "+id, a, http.StatusAccepted)
	}
	get := func(path string) (calls []shownCall) {
		t.Helper()
		var got struct{ Calls []shownCall }
		harness.Decode(t, s.Do(http.MethodGet, path, nil), &got)
		return got.Calls
	}
	ends := func(id, want string) (calls []shownCall) {
		t.Helper()
		assert.Eventually(t, "the tree of "+id+" is "+want, func() bool {
			calls = get("/models/a/predictions/" + id)
			return treeOf(calls) == want
		})
		assert.Equal(t, "the live view's tree of "+id, treeOf(get("/models/a/dashboard/prediction?kind=prediction&id="+id)),
			want)
		return calls
	}

	put("live", harness.Input{"path": []string{"b", "c"}, "gate": true})
	running := ends("live", "b processing (c processing)")
	for _, c := range []shownCall{running[0], running[0].Calls[0]} {
		a := s.Do(http.MethodGet, fmt.Sprintf("/models/%s/predictions/%s", c.Model, c.ID), nil)
		harness.WantCode(t, "the prediction of the call of "+c.Model, a, http.StatusOK)
	}
	open()
	ended := ends("live", "b succeeded (c succeeded)")
	assert.Equal(t, "the id after the end", ended[0].ID, running[0].ID)

	put("fails", harness.Input{"path": []string{"b", "c"}, "fail": "no <b>words</b>"})
	failed := ends("fails", "b failed (c failed)")
	assert.Equal(t, "the error of the inner call", failed[0].Calls[0].Error, "ValueError: no <b>words</b>")
	put("refused", harness.Input{"path": []string{"b", "a"}})
	refused := ends("refused", "b failed (a refused)")
	assert.Equal(t, "why it was refused", refused[0].Calls[0].Error, `model "a" is already among its callers: a → b → a`)

	put("canceled", harness.Input{"path": []string{"b", "c"}, "gate": true})
	ends("canceled", "b processing (c processing)")
	harness.WantCode(t, "cancel", s.Do(http.MethodPost, "/models/a/predictions/canceled/cancel", nil), http.StatusOK)
	ends("canceled", "b canceled (c canceled)")

	put("none", harness.Input{"path": []string{}})
	assert.Eventually(t, "the prediction without calls has ended", func() bool {
		return s.Do(http.MethodGet, "/models/a/predictions/none", nil).Status == "succeeded"
	})
	var members map[string]json.RawMessage
	harness.Decode(t, s.Do(http.MethodGet, "/models/a/predictions/none", nil), &members)
	calls, has := members["calls"]
	assert.False(t, has, "a prediction without calls has %s, want no calls", calls)
}

// TestCallsTree_WaitingCallIsStarting: until the called model begins it, a call is shown as starting.
func TestCallsTree_WaitingCallIsStarting(t *testing.T) {
	t.Parallel()
	s, dir := callingModels(t, map[string]string{"a": waitingModel, "b": waitingModel},
		map[string]string{"a": ", predictor: run.py:run", "b": ", predictor: run.py:run"},
		harness.Options{Args: []string{"--queue", "4"}})
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	put := func(model, id string, in harness.Input) {
		t.Helper()
		a := s.Do(http.MethodPut, "/models/"+model+"/predictions/"+id, map[string]any{"input": in}, "Prefer", "respond-async")
		harness.WantCode(t, "PUT "+id, a, http.StatusAccepted)
	}
	tree := func() string {
		var got struct{ Calls []shownCall }
		harness.Decode(t, s.Do(http.MethodGet, "/models/a/predictions/caller", nil), &got)
		if len(got.Calls) == 1 && got.Calls[0].ID == "" {
			return "" // not accepted yet
		}
		return treeOf(got.Calls)
	}
	put("b", "first", harness.Input{"path": []string{}, "gate": true})
	put("a", "caller", harness.Input{"path": []string{"b"}})
	assert.Eventually(t, "the call waits", func() bool { return tree() != "" })
	assert.Equal(t, "the tree while it waits", tree(), "b starting")
	open()
	assert.Eventually(t, "the call ends", func() bool { return tree() == "b succeeded" })
}
