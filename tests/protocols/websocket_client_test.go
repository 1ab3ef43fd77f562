package protocols

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestWebSocketClient_OfThePage runs the model and the client of how-to/streams-in.md, by the library websockets.
func TestWebSocketClient_OfThePage(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	page := string(assert.Must(os.ReadFile("../docs/how-to/streams-in.md"))(t))
	code := func(begins string) string {
		_, rest, found := strings.Cut(page, "\n    "+begins)
		assert.TrueNow(t, found, "the page has no code that begins with %q", begins)
		var lines []string
		for line := range strings.Lines(begins + rest) {
			if text, is := strings.CutPrefix(line, "    "); is || strings.TrimSpace(line) == "" || len(lines) == 0 {
				lines = append(lines, text)
				continue
			}
			break
		}
		return strings.Join(lines, "")
	}
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), code("from cog import BaseRunner"))
	harness.WriteFile(t, filepath.Join(dir, "audio"), strings.Repeat("x", 8000))
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner"})
	client := strings.Replace(code("import asyncio, sys"), "localhost:5000", harness.Host(s), 1)
	harness.WriteFile(t, filepath.Join(dir, "client.py"), client)
	out := harness.RunTool(t, dir, nil, tool, "-B", "client.py", "audio")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last harness.Message
	harness.FromJSON(t, []byte(lines[len(lines)-1]), &last)
	var p harness.Prediction
	assert.NoError(t, json.Unmarshal(last.Data, &p))
	harness.EqualJSON(t, "the output", p.Output, `["de: 3200 bytes","de: 6400 bytes","de: 8000 bytes"]`)
	assert.Contains(t, "the messages", out, `{"event":"output","data":{"chunk":"de: 3200 bytes","index":0},"id":"`+p.ID+`"}`)
}
