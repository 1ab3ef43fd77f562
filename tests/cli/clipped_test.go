package cli

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestClipped_LogsAndErrorsCutWhatClientsSend holds that no text of a client makes a line of the log, or an error, as
// long as it likes.
func TestClipped_LogsAndErrorsCutWhatClientsSend(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Args: []string{"--access-log", "--log-level", "debug"},
		Dir: harness.NewFolder(t, "run.py", `
from cog import Path

def run(file: Path | None = None, files: dict[str, int] = {}) -> str:
    print("ran")
    return "done"
`), Model: "run.py:run",
	})
	long := strings.Repeat("x", 10<<20)
	host := "http://" + strings.Repeat("x", 1<<20) + ".invalid/"
	receiver := "http://" + strings.Repeat("x", 10_000) + ".invalid/"
	id := strings.Repeat("😀", 256)
	path := strings.Repeat("x", 20_000)
	for _, c := range []struct {
		what string
		code int
		do   func() harness.Answer
	}{
		{"an unknown input", 200, func() harness.Answer { return s.Input(map[string]any{long: 1, long + "2": 2}) }},
		{"a long id", 200, func() harness.Answer {
			return s.Create(map[string]any{"id": id, "input": harness.Input{"unknown": 1}})
		}},
		{"a file's host", 200, func() harness.Answer { return s.Input(harness.Input{"file": host}) }},
		{"a file's path", 200, func() harness.Answer { return s.Input(harness.Input{"file": "http://127.0.0.1:1/" + long}) }},
		{"a webhook's host", 200, func() harness.Answer {
			return s.Create(map[string]any{
				"input": harness.Input{}, "webhook": receiver,
				"webhook_events_filter": []string{"start"},
			})
		}},
		{"a key of a mapping", 422, func() harness.Answer {
			return s.Input(harness.Input{"files": map[string]any{long: "x"}})
		}},
		{"a value", 422, func() harness.Answer { return s.Input(harness.Input{"files": long}) }},
		{"a webhook", 422, func() harness.Answer { return s.Create(map[string]any{"webhook": long}) }},
		{
			"a key of the context", 422,
			func() harness.Answer { return s.Create(map[string]any{"context": map[string]any{long: 1}}) },
		},
		{"a content type", 415, func() harness.Answer { return s.Create("{}", "Content-Type", path) }},
		{"a content coding", 415, func() harness.Answer { return s.Create("{}", "Content-Encoding", path) }},
		{"a part of a form", 400, func() harness.Answer {
			return s.Create("--x\r\n"+path+"\r\n\r\n--x--", "Content-Type", "multipart/form-data; boundary=x")
		}},
		{"a path", 404, func() harness.Answer { return s.Do(http.MethodGet, "/"+path, nil) }},
		{"an id in a path", 422, func() harness.Answer {
			return s.Do(http.MethodPut, "/predictions/"+path, harness.Input{})
		}},
	} {
		a := c.do()
		assert.Equal(t, c.what, a.Code, c.code)
		assert.True(t, len(a.Body) <= 4<<10,
			"%s: the answer has %d bytes: %.300s, want at most %d bytes", c.what, len(a.Body), a.Body, 4<<10)
	}
	assert.Eventually(t, "the webhook was given up",
		func() bool { _, ok := s.Log.Find("webhook delivery failed"); return ok })
	for _, line := range s.Log.Lines() {
		assert.True(t, len(line.Raw) <= 2<<10, "a line of the log is long: %.300s, want at most %d bytes", line.Raw, 2<<10)
		if strings.Contains(line.Raw, id[:len("😀")*51]) {
			t.Errorf("a line of the log has a long id: %.300s, want no %q in it", line.Raw, id[:len("😀")*51])
		}
	}
	assert.True(t, s.Log.Count("unknown inputs are dropped") > 0, "the unknown input was not logged: got none, want one")
}
