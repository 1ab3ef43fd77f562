package api

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const noStreams = `
import cog

class Old(cog.BasePredictor):
    def predict(self, n: int = 1) -> int:
        return n

class Batched(cog.BaseRunner):
    @cog.batch(max_size=2)
    def run(self, n: list[int]) -> list[int]:
        return n

async def embed(n: int = 1) -> int:
    return n

def learn(n: int = 1) -> str:
    return "learned"
`

// TestStream_RefusalNamesFunction that is to return an iterator, or why it cannot, and what to do instead.
func TestStream_RefusalNamesFunction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), noStreams)
	for _, c := range []struct{ name, path, says string }{
		{"Old", "/predictions", "Add @cog.streaming to Old.predict(), with Iterator"},
		{"embed", "/predictions", "Add @cog.streaming to embed(), with Iterator"},
		{"Batched", "/predictions", "Batched.run() has @cog.batch, and predictions of a batch cannot be streamed"},
		{"Old", "/trainings", "GET /trainings/{id} has the state"},
	} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + c.name, Env: []string{"COG_TRAIN_TYPE_STUB=run.py:learn"}})
		a := s.Do(http.MethodPost, c.path, map[string]any{"input": harness.Input{"n": 1}}, "Accept", "text/event-stream")
		harness.WantCode(t, c.name+c.path, a, http.StatusNotAcceptable)
		for _, want := range []string{c.says, "sk without Accept: text/event-stream"} {
			assert.True(t, strings.Contains(string(a.Body), want),
				"%s%s: got %s, want it to contain %q", c.name, c.path, a.Body, want)
		}
	}
}
