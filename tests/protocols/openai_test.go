package protocols

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestOpenAI_ClientOfDocumentWorks runs the client that docs/how-to/openai.md shows, which is OpenAI's own.
func TestOpenAI_ClientOfDocumentWorks(t *testing.T) {
	t.Parallel()
	const document = "../docs/how-to/openai.md"
	python := harness.Tool(t, "venvs/protocols/bin/python")
	s := harness.Ready(t, harness.Options{Dir: harness.ModelOf(t, document), Args: []string{"--model", "echo"}})
	harness.RunProgram(t, document, "# client.py", python, "http://localhost:5000", s.Address)
}

// TestOpenAI_Stream compares each event of a stream with two choices.
func TestOpenAI_Stream(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"},
	})
	answer := postOpenAI(s, `{"model":"echo","messages":[{"role":"user","content":"a b"}],"stream":true,"n":2,"stream_options":{"include_usage":true}}`)
	body, id := string(answer.Body), answer.Header.Get("X-Request-Id")
	var got []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			_, data, _ = strings.Cut(data, `"choices":`)
			got = append(got, data)
		}
	}
	want := []string{}
	for i := range 2 {
		for _, delta := range []string{
			`{"role":"assistant","content":""},"finish_reason":null`,
			`{"content":"a"},"finish_reason":null`, `{"content":" b"},"finish_reason":null`, `{},"finish_reason":"stop"`,
		} {
			want = append(want, fmt.Sprintf(`[{"index":%d,"delta":%s}],"usage":null}`, i, delta))
		}
	}
	want = append(want, `[],"usage":{"prompt_tokens":2,"completion_tokens":4,"total_tokens":6}}`, "")
	assert.True(t, strings.Join(got, "\n") == strings.Join(want, "\n") && strings.HasSuffix(body, "data: [DONE]\n\n"),
		"got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	assert.True(t, id != "" && strings.Count(body, `"id":"chatcmpl-`+id+`"`) == 9,
		"x-request-id is %q; the events are %s, want id non-empty and Count 9", id, body)
}

// TestOpenAI_Errors compares statuses and bodies.
func TestOpenAI_Errors(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"},
	})
	for body, want := range map[string]string{
		`{"model":"nope","messages":[{"role":"user","content":"a"}]}`:                `404 {"error":{"message":"unknown model \"nope\": this server has \"echo\"","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
		`{"model":"echo","messages":[{"role":"user","content":"a"}],"temprature":1}`: `400 {"error":{"message":"Unknown parameter: 'temprature'.","type":"invalid_request_error","param":"temprature","code":"unknown_parameter"}}`,
		`{"model":"echo","messages":[{"role":"user","content":3}]}`:                  `500 {"error":{"message":"AttributeError: 'int' object has no attribute 'split'","type":"server_error","param":null,"code":null}}`,
	} {
		answer := postOpenAI(s, body)
		assert.Equal(t, body, answer.String(), want)
		assert.True(t, answer.Code != 500 || answer.Header.Get("X-Should-Retry") == "false",
			"%s: the client would repeat it: %v, want X-Should-Retry false", body, answer.Header)
	}
}

// TestOpenAI_DisconnectCancels leaves a stream, after which the only slot is free again.
func TestOpenAI_DisconnectCancels(t *testing.T) {
	t.Parallel()
	const model = "import time\nimport cog\nfrom collections.abc import Iterator\n\n\nclass Runner(cog.BaseRunner):\n    @cog.openai(\"chat\")\n" +
		"    def run(self, messages: list[dict], forever: bool = False) -> Iterator[str]:\n        yield \"a\"\n        while forever:\n            time.sleep(0.01)\n"
	s := harness.Ready(t, harness.Options{
		Dir:  harness.NewFolder(t, "run.py", model, "cog.yaml", "run: run.py:Runner\n"),
		Args: []string{"--model", "m", "--queue", "1"},
	})
	answer := s.Open(t, http.MethodPost, "/v1/chat/completions",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"forever":true}`)
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	assert.TrueNow(t, err == nil && strings.HasPrefix(line, "data: "), `%q %v, want it to start with "data: "`, line, err)
	answer.Body.Close()
	harness.WantCode(t, "the slot is to be free",
		postOpenAI(s, `{"model":"m","messages":[{"role":"user","content":"x"}]}`), 200)
}

func postOpenAI(s *harness.Server, body string) harness.Answer {
	return s.Do(http.MethodPost, "/v1/chat/completions", body)
}

// TestSpeech_NoAudio: an item that is not audio is answered 500 if nothing was sent before.
func TestSpeech_NoAudio(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "generative.py:Mute", Args: []string{"--model", "m"}})
	answer := s.Do(http.MethodPost, "/v1/audio/speech", `{"model":"m","input":"a"}`)
	harness.WantAnswer(t, "speech", answer, 500, `{"error":{"message":"The model returned a text that is not audio`)
}
