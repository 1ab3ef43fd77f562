package protocols

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// embedder is a model for OpenAI's embeddings that takes one text at a time.
const embedder = `
import cog

@cog.openai("embeddings")
def embed(input: str, user: str = "") -> list[float]:
    return [1.0]
`

// TestMemory_CopiesForRowsShareMemory: what a request gives to all of its rows is copied for each. The copies count
// before they are made, in each protocol.
func TestMemory_CopiesForRowsShareMemory(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("t", 1<<20)
	instances := `{"instances":[` + strings.Repeat("{},", 15_999) + `{}],"parameters":{"text":"` + large + `"}}`
	const oneInstance = `{"instances":[{"size":3}],"parameters":{"text":"t"}}`
	enter := harness.NeedMemoryGroup(t, 256<<20)
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", harness.HoarderModel), Model: "run.py:returned", Wrap: enter,
		Args: []string{"--model", "m"}, Env: []string{"AIP_PREDICT_ROUTE=/vertex"},
	})
	for _, path := range []string{"/v1/models/m:predict", "/vertex", "/invocations"} {
		refusedForMemory(t, s, path, instances, `{"error":"`)
		answer := s.Do(http.MethodPost, path, []byte(oneInstance))
		assert.Contains(t, path+" with a small one", string(answer.Body), `{"predictions":["xxx"]}`)
	}
	_, enter, _ = harness.MemoryGroup(t, 256<<20)
	s = harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", embedder), Model: "run.py:embed", Wrap: enter, Args: []string{"--model", "m"},
	})
	texts := `{"model":"m","user":"` + large + `","input":[` + strings.Repeat(`"t",`, 2047) + `"t"]}`
	refusedForMemory(t, s, "/v1/embeddings", texts, `{"error":{"message":"`)
	answer := s.Do(http.MethodPost, "/v1/embeddings", []byte(`{"model":"m","user":"u","input":["a","b"]}`))
	assert.Contains(t, "a small one", string(answer.Body), `"embedding":[1.0]`)
}

// TestMemory_RowsShareMemory: each row of a request is a prediction, which takes memory while it waits, however little
// it says.
func TestMemory_RowsShareMemory(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 256, "--model", "m", "--queue", "100")
	body := []byte(`{"instances":[` + strings.Repeat("{},", 15_999) + `{}]}`)
	harness.RunClients(t, 24, func(int) error {
		a := s.Do(http.MethodPost, "/v1/models/m:predict", body)
		if a.Code != http.StatusOK && (a.Code != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "") {
			return fmt.Errorf("%d %v %.300s", a.Code, a.Header, a.Body)
		}
		return nil
	})
	answer := s.Do(http.MethodPost, "/v1/models/m:predict", body)
	assert.True(t, answer.Code == http.StatusOK && strings.Count(string(answer.Body), `"x"`) == 16_000,
		"alone: %d %.300s, want Code 200 and Count 16_000", answer.Code, answer.Body)
	harness.WaitResident(t, s, before)
}

// refusedForMemory sends a body that never fits a few times at once, and wants refusals that begin so.
func refusedForMemory(t *testing.T, s *harness.Server, path, body, begin string) {
	t.Helper()
	harness.RunClients(t, 4, func(int) error {
		a := s.Do(http.MethodPost, path, []byte(body))
		want := http.StatusRequestEntityTooLarge
		if a.Header.Get("Retry-After") != "" { // the others hold memory
			want = http.StatusServiceUnavailable
		}
		if a.Code != want || !strings.HasPrefix(string(a.Body), begin) || !strings.Contains(string(a.Body), "memory budget") {
			return fmt.Errorf("%s: %d %v %.300s", path, a.Code, a.Header, a.Body)
		}
		return nil
	})
}
