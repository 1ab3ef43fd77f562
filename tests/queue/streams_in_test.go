package queue

import (
	"net/http"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestStreamsIn_ThroughQueue: a job has the items as a list, and a gateway takes no items in a body.
func TestStreamsIn_ThroughQueue(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), `
from collections.abc import Iterator

def run(words: Iterator[str]) -> str:
    return " ".join(words)
`)
	s := harness.StartMember(t, nats.URL, harness.Options{Dir: dir, Model: "run.py:run"})
	g := harness.StartGateway(t, nats.URL)
	job := map[string]any{"id": "listed", "input": harness.Input{"words": []string{"a", "b"}}}
	harness.WantCode(t, "a job", g.Create(job, "Prefer", "respond-async"), http.StatusAccepted)
	harness.WaitStatus(t, g.Server, "listed", "succeeded")
	harness.WantOutput(t, "the job", g.Do(http.MethodGet, "/predictions/listed", nil), "a b")
	items := func(of *harness.Server) harness.Answer {
		return of.Do(http.MethodPost, "/predictions", "{\"input\": {}}\n\"a\"\n", "Content-Type", "application/x-ndjson")
	}
	harness.WantOutput(t, "items in a body", items(s), "a")
	a := items(g.Server)
	harness.WantAnswer(t, "items at a gateway", a, http.StatusBadRequest, "send the items as a list")
	assert.Equal(t, "a.Status", a.Status, "")
}
