package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSeveral_KeptResultsMakeRoom: results that the models of a server keep fill a quarter of its memory budget
// together, and never cause a refusal, whichever model they are of.
func TestSeveral_KeptResultsMakeRoom(t *testing.T) {
	t.Parallel()
	pythons, names := map[string]harness.Python{}, []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		pythons[name] = harness.AnyPython(t)
	}
	dir, models := harness.ModelFolders(t, pythons)
	s := harness.Start(t, harness.Options{Dir: dir, Models: models, Args: []string{"--memory-budget", "16MiB"}})
	harness.WaitModels(t, s)
	text := strings.Repeat("x", 40_000)
	for i := range 60 { // 2.4 MB of inputs and 2.4 of outputs in each model
		for _, name := range names {
			a := s.Do(http.MethodPut, "/models/"+name+"/predictions/p"+strconv.Itoa(i),
				map[string]any{"input": harness.Input{"text": text}})
			harness.WantCode(t, name+", prediction "+strconv.Itoa(i), a, http.StatusOK)
			assert.EqualNow(t, name+", prediction "+strconv.Itoa(i), a.Status, "succeeded")
		}
	}
	used, limit, evictions := harness.MemoryBudget(t, s)
	assert.True(t, used <= limit/4+1<<20 && evictions > 0,
		"%d of %d bytes are used after %d evictions, want at most a quarter of them, and evictions", used, limit, evictions)
	for _, name := range names { // the oldest went first, of all models
		first := s.Do(http.MethodGet, "/models/"+name+"/predictions/p0", nil)
		harness.WantCode(t, name+": the first result", first, http.StatusNotFound)
		last := s.Do(http.MethodGet, "/models/"+name+"/predictions/p59", nil)
		harness.WantCode(t, name+": the last result", last, http.StatusOK)
	}
}
