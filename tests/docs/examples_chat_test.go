package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestExamplesChat_ChatExample streams from examples/chat with the client beside it, OpenAI's. At temperature 0 it says
// the same twice, in words of the documentation that it was trained on.
func TestExamplesChat_ChatExample(t *testing.T) {
	t.Parallel()
	client := harness.Tool(t, "venvs/protocols/bin/python")
	python := harness.AnyPython(t).Path
	dir := harness.Example(t, "chat")
	s := harness.Ready(t, harness.Options{Python: python, Dir: dir, Args: []string{"--model", "chat"}})
	ask := func() string {
		return harness.RunTool(t, dir, nil, client, "-B", filepath.Join(dir, "client.py"), "The return statement", s.Address)
	}
	said := ask()
	harness.Equal(t, fmt.Sprintf("it says %q and then", said), ask(), said)
	m := regexp.MustCompile(`(?s)^(.+)\n\(3 \+ 20 tokens\)\n$`).FindStringSubmatch(said)
	if m == nil || len(strings.Fields(m[1])) != 20 {
		t.Fatalf("it says %q, want 20 words and the usage", said)
	}
	const known = `
import sys
from pydoc_data.topics import topics
words = set(" ".join(topics.values()).split())
print(*[word for word in sys.argv[1].split() if word not in words])`
	harness.Equal(t, "its words", strings.TrimSpace(string(harness.RunPython(t, python, dir, nil, "-c", known, m[1]))), "")
}

// TestExamplesChat_AnswersFourAPIs asks the same function by the clients of four APIs, which get the same text.
func TestExamplesChat_AnswersFourAPIs(t *testing.T) {
	t.Parallel()
	client := harness.Tool(t, "venvs/protocols/bin/python")
	dir := harness.Example(t, "chat")
	s := harness.Ready(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Args: []string{"--model", "chat", "--queue", "4"},
	})
	said := harness.RunTool(t, dir, nil, client, "-B", filepath.Join(dir, "clients.py"), "The return statement", s.Address)
	texts := map[string]bool{}
	for line := range strings.Lines(said) {
		_, text, _ := strings.Cut(line, ":")
		texts[strings.TrimSpace(text)] = true
	}
	if strings.Count(said, "\n") != 4 || len(texts) != 1 || texts[""] {
		t.Errorf("got %q, want one text four times", said)
	}
}
