package cli

import (
	"net/http"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestAccept_BothFromModelThatDoesNotStream: a client that takes an object and a stream gets the object, a client that
// takes a stream alone is refused, and weights count.
func TestAccept_BothFromModelThatDoesNotStream(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", "def run(n: int = 1) -> int:\n    return n\n"), Model: "run.py:run",
	})
	for _, c := range []struct {
		path, accept string
		code         int
		kind         string
	}{
		{"/predictions", "application/json, text/event-stream", http.StatusOK, "application/json"},
		{"/predictions", "text/event-stream, */*;q=0.1", http.StatusOK, "application/json"},
		{"/predictions", "text/event-stream;q=0.5, application/json", http.StatusOK, "application/json"},
		{"/predictions", "text/event-stream", http.StatusNotAcceptable, "application/json"},
		{"/predictions", "text/event-stream, application/json;q=0", http.StatusNotAcceptable, "application/json"},
		{"/invocations", "application/json, text/event-stream", http.StatusOK, "application/json"},
		{"/invocations", "text/event-stream;q=0.5, application/json", http.StatusOK, "application/json"},
		{"/invocations", "text/event-stream", http.StatusOK, "text/event-stream"},
	} {
		a := s.Do(http.MethodPost, c.path, `{}`, "Accept", c.accept, "Content-Type", "application/json")
		if got := a.Header.Get("Content-Type"); a.Code != c.code || got != c.kind {
			t.Errorf("%s, Accept: %s: got %d %s, want %d %s", c.path, c.accept, a.Code, got, c.code, c.kind)
		}
	}
}

// TestAccept_BothFromModelThatStreams: of equal weights the stream wins.
func TestAccept_BothFromModelThatStreams(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py",
			"import cog\nfrom typing import Iterator\n@cog.streaming\ndef run() -> Iterator[str]:\n    yield 'a'\n"),
		Model: "run.py:run",
	})
	for accept, want := range map[string]string{
		"application/json, text/event-stream":       "text/event-stream",
		"application/json, text/event-stream;q=0.9": "application/json",
		"text/event-stream, application/json;q=0.9": "text/event-stream",
	} {
		assert.Equal(t, "Accept: "+accept, s.Create(`{"input":{}}`, "Accept", accept).Header.Get("Content-Type"), want)
	}
}
