package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/harness"
)

// TestTheOpenAIClientOfTheDocumentWorks runs the client that docs/how-to/openai.md shows, which is OpenAI's own.
func TestTheOpenAIClientOfTheDocumentWorks(t *testing.T) {
	t.Parallel()
	const document = "../docs/how-to/openai.md"
	python := harness.Tool(t, "venvs/protocols/bin/python")
	s := harness.Ready(t, harness.Options{Dir: modelOf(t, document), Args: []string{"--model", "echo"}})
	code, prints := program(t, document, "# client.py")
	file := filepath.Join(t.TempDir(), "client.py")
	writeFile(t, file, strings.Replace(code, "http://localhost:5000", s.Address, 1))
	same(t, "what it prints", strings.TrimSpace(runTool(t, t.TempDir(), nil, python, file)), strings.TrimSpace(prints))
}

// TestOpenAIStream compares each event of a stream with two choices.
func TestOpenAIStream(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: modelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"}})
	answer, body := postOpenAI(t, s, `{"model":"echo","messages":[{"role":"user","content":"a b"}],"stream":true,"n":2,"stream_options":{"include_usage":true}}`)
	id := answer.Header.Get("X-Request-Id")
	var got []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			_, data, _ = strings.Cut(data, `"choices":`)
			got = append(got, data)
		}
	}
	want := []string{}
	for i := range 2 {
		for _, delta := range []string{`{"role":"assistant","content":""},"finish_reason":null`, `{"content":"a"},"finish_reason":null`, `{"content":" b"},"finish_reason":null`, `{},"finish_reason":"stop"`} {
			want = append(want, fmt.Sprintf(`[{"index":%d,"delta":%s}],"usage":null}`, i, delta))
		}
	}
	want = append(want, `[],"usage":{"prompt_tokens":2,"completion_tokens":4,"total_tokens":6}}`, "")
	if strings.Join(got, "\n") != strings.Join(want, "\n") || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if id == "" || strings.Count(body, `"id":"chatcmpl-`+id+`"`) != 9 {
		t.Errorf("x-request-id is %q; the events are %s", id, body)
	}
}

// TestOpenAIErrors compares statuses and bodies.
func TestOpenAIErrors(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: modelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"}})
	for body, want := range map[string]string{
		`{"model":"nope","messages":[{"role":"user","content":"a"}]}`:                `404 {"error":{"message":"unknown model \"nope\": this server has \"echo\"","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
		`{"model":"echo","messages":[{"role":"user","content":"a"}],"temprature":1}`: `400 {"error":{"message":"Unknown parameter: 'temprature'.","type":"invalid_request_error","param":"temprature","code":"unknown_parameter"}}`,
		`{"model":"echo","messages":[{"role":"user","content":3}]}`:                  `500 {"error":{"message":"AttributeError: 'int' object has no attribute 'split'","type":"server_error","param":null,"code":null}}`,
	} {
		answer, got := postOpenAI(t, s, body)
		if got = fmt.Sprintf("%d %s", answer.StatusCode, got); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
		if answer.StatusCode == 500 && answer.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: the client would repeat it: %v", body, answer.Header)
		}
	}
}

// TestOpenAIDisconnectCancels leaves a stream, after which the only slot is free again.
func TestOpenAIDisconnectCancels(t *testing.T) {
	t.Parallel()
	const model = "import time\nimport cog\nfrom collections.abc import Iterator\n\n\nclass Runner(cog.BaseRunner):\n    @cog.openai(\"chat\")\n" +
		"    def run(self, messages: list[dict], forever: bool = False) -> Iterator[str]:\n        yield \"a\"\n        while forever:\n            time.sleep(0.01)\n"
	s := harness.Ready(t, harness.Options{Dir: folder(t, "run.py", model, "cog.yaml", "run: run.py:Runner\n"), Args: []string{"--model", "m", "--queue", "1"}})
	ctx, leave := context.WithTimeout(context.Background(), time.Minute)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Address+"/v1/chat/completions",
		strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"forever":true}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Fatalf("%q %v", line, err)
	}
	leave()
	answer.Body.Close()
	if second, body := postOpenAI(t, s, `{"model":"m","messages":[{"role":"user","content":"x"}]}`); second.StatusCode != 200 {
		t.Errorf("the slot is not free: %d %s", second.StatusCode, body)
	}
}

func postOpenAI(t *testing.T, s *harness.Server, body string) (*http.Response, string) {
	t.Helper()
	answer, err := http.Post(s.Address+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}
