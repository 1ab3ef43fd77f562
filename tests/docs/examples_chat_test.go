package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
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
	assert.Equal(t, fmt.Sprintf("it says %q and then", said), ask(), said)
	m := regexp.MustCompile(`(?s)^(.+)\n\(3 \+ 20 tokens\)\n$`).FindStringSubmatch(said)
	assert.TrueNow(t, m != nil && len(strings.Fields(m[1])) == 20, "it says %q, want 20 words and the usage", said)
	const known = `
import sys
from pydoc_data.topics import topics
words = set(" ".join(topics.values()).split())
print(*[word for word in sys.argv[1].split() if word not in words])`
	assert.Equal(t, "its words", strings.TrimSpace(string(harness.RunPython(t, python, dir, nil, "-c", known, m[1]))), "")
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
	assert.True(t, strings.Count(said, "\n") == 4 && len(texts) == 1 && !texts[""],
		"got %q, want one text four times", said)
}

// manyStreams asks for several prompts with OpenAI's client, one after the other and then all at once, and prints how
// many texts differ. A step's sequences are rows of one matrix, so none may see another.
const manyStreams = `
import sys
from concurrent.futures import ThreadPoolExecutor
import openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="any")
def ask(n):
    stream = client.chat.completions.create(model="chat", temperature=0, max_tokens=40 + n, stream=True,
        messages=[{"role": "user", "content": "The return statement of a function " * n + "is"}])
    return "".join(c.delta.content or "" for chunk in stream for c in chunk.choices)
one = [ask(n) for n in range(16)]
with ThreadPoolExecutor(16) as pool:
    print(sum(a != b for a, b in zip(one, pool.map(ask, range(16)))), [len(text.split()) for text in one])`

func TestExamplesChat_SequencesShareSteps(t *testing.T) {
	t.Parallel()
	client := harness.Tool(t, "venvs/protocols/bin/python")
	dir := harness.Example(t, "chat")
	s := harness.Ready(t, harness.Options{Python: harness.AnyPython(t).Path, Dir: dir, Args: []string{"--model", "chat"}})
	said := harness.RunTool(t, dir, nil, client, "-c", manyStreams, s.Address)
	assert.Equal(t, "texts that differ, and lengths", strings.TrimSpace(said),
		"0 [40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55]")
	var got harness.MetricFamilies
	const tokens = 2 * (16*39 + 120) // of decode: the first comes from prefill
	assert.Eventually(t, "all steps are reported", func() bool {
		got = harness.Scrape(t, s)
		return got.Value("pinion_method_batch_size", "method", "prefill") > 0 && decoded(got) >= tokens
	})
	if steps := got.Value("pinion_method_batch_size", "method", "decode"); decoded(got) != tokens || steps > tokens*3/4 {
		t.Errorf("got %v tokens in %v steps, want %d in at most three quarters", decoded(got), steps, tokens)
	}
}

func decoded(f harness.MetricFamilies) float64 {
	for _, m := range f["pinion_method_batch_size"].GetMetric() {
		if m.GetLabel()[0].GetValue() == "decode" {
			return m.GetHistogram().GetSampleSum()
		}
	}
	return 0
}
