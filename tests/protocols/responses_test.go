package protocols

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// dataOf returns the data of a stream's events, without what differs from one request to the next.
func dataOf(body, id string) string {
	var out []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			before, response, ok := strings.Cut(data, `"response":`)
			if ok {
				status, _, _ := strings.Cut(response[strings.Index(response, `"status"`):], ",")
				data = before + status
			}
			out = append(out, strings.ReplaceAll(data, id, "ID"))
		}
	}
	return strings.Join(out, "\n")
}

// TestResponses_Stream compares each event of a stream.
func TestResponses_Stream(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"},
	})
	answer := s.Do(http.MethodPost, "/v1/responses", `{"model":"echo","input":"a b","stream":true}`)
	const item = `"item_id":"msg_ID_0","output_index":0,"content_index":0,`
	want := strings.Join([]string{
		`{"type":"response.created","sequence_number":0,"status":"in_progress"`,
		`{"type":"response.in_progress","sequence_number":1,"status":"in_progress"`,
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_ID_0","type":"message","role":"assistant","content":[],"status":"in_progress"}}`,
		`{"type":"response.content_part.added","sequence_number":3,` + item + `"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":4,` + item + `"delta":"a","logprobs":[]}`,
		`{"type":"response.output_text.delta","sequence_number":5,` + item + `"delta":" b","logprobs":[]}`,
		`{"type":"response.output_text.done","sequence_number":6,` + item + `"text":"a b","logprobs":[]}`,
		`{"type":"response.content_part.done","sequence_number":7,` + item + `"part":{"type":"output_text","text":"a b","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{"id":"msg_ID_0","type":"message","role":"assistant","content":[{"type":"output_text","text":"a b","annotations":[],"logprobs":[]}],"status":"completed"}}`,
		`{"type":"response.completed","sequence_number":9,"status":"completed"`,
	}, "\n")
	id := answer.Header.Get("X-Request-Id")
	got := dataOf(string(answer.Body), id)
	assert.True(t, got == want && id != "", "got\n%s\nwant\n%s", got, want)
	assert.True(t, strings.Count(string(answer.Body), "event: response.") == 10 &&
		!strings.Contains(string(answer.Body), "[DONE]"), "got %s, want a name of each event, and no [DONE]", answer.Body)
}

// TestDialects_OfOneFunction: a function that returns a whole text answers each dialect, as a stream too.
func TestDialects_OfOneFunction(t *testing.T) {
	t.Parallel()
	const model = "import cog\n\n\nclass Runner(cog.BaseRunner):\n    @cog.openai(\"chat\")\n" +
		"    def run(self, messages: list[dict]) -> str:\n        return messages[-1][\"content\"]\n"
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", model, "cog.yaml", "run: run.py:Runner\n"), Args: []string{"--model", "m"},
	})
	for _, c := range []struct{ path, body, text, last string }{
		{"/v1/responses", `{"model":"m","input":"hello"`, `"text":"hello"`, "event: response.completed"},
		{"/v1/messages", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hello"}]`, `"text":"hello"`, "event: message_stop"},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]`, `"content":"hello"`, "data: [DONE]"},
	} {
		harness.WantAnswer(t, c.path, s.Do(http.MethodPost, c.path, c.body+"}"), 200, c.text)
		answer := s.Do(http.MethodPost, c.path, c.body+`,"stream":true}`)
		harness.WantAnswer(t, c.path+" as a stream", answer, 200, c.text)
		harness.WantAnswer(t, c.path+" as a stream", answer, 200, c.last)
	}
}

// TestDialects_ErrorsOfTheServer: the body's size, foreign pages and unknown paths are answered in the dialect's shape.
func TestDialects_ErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo", "--max-body=2000"},
	})
	large := `{"model":"echo","input":"` + strings.Repeat("a", 3000) + `"}`
	for _, c := range []struct {
		what, method, path, body string
		headers                  []string
		code                     int
		want                     string
	}{
		{"too large", http.MethodPost, "/v1/responses", large, nil, 413, `{"error":{"message":"`},
		{"too large", http.MethodPost, "/v1/messages", large, nil, 413, `{"type":"error","error":{"type":"request_too_large"`},
		{"a foreign page", http.MethodPost, "/v1/messages", "{}", []string{"Origin", "https://evil.example"}, 403, `{"type":"error","error":{"type":"permission_error"`},
		{"a foreign page", http.MethodPost, "/v1/responses", "{}", []string{"Origin", "https://evil.example"}, 403, `{"error":{"message":"A browser`},
		{"not JSON", http.MethodPost, "/v1/messages", "{", nil, 400, `{"type":"error","error":{"type":"invalid_request_error"`},
		{"not JSON", http.MethodPost, "/v1/responses", "{", nil, 400, `"type":"invalid_request_error"`},
		{"another method", http.MethodGet, "/v1/messages", "", nil, 405, `{"type":"error","error":{"type":"invalid_request_error"`},
		{"batches", http.MethodGet, "/v1/messages/batches", "", nil, 404, `{"type":"error","error":{"type":"not_found_error"`},
		{"a stored response", http.MethodGet, "/v1/responses/resp_1", "", nil, 404, `{"error":{"message":"unknown path`},
	} {
		harness.WantAnswer(t, c.what+" at "+c.path, s.Do(c.method, c.path, []byte(c.body), c.headers...), c.code, c.want)
	}
}

// TestDialects_DisconnectCancels leaves a stream of each, after which the only slot is free again.
func TestDialects_DisconnectCancels(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "generative.py:Chat", Args: []string{"--model", "m", "--queue", "1"}})
	for path, body := range map[string]string{
		"/v1/responses": `{"model":"m","stream":true,"input":"a forever"}`,
		"/v1/messages":  `{"model":"m","stream":true,"max_tokens":5,"messages":[{"role":"user","content":"a forever"}]}`,
	} {
		answer := s.Open(t, http.MethodPost, path, body)
		line, err := bufio.NewReader(answer.Body).ReadString('\n')
		assert.TrueNow(t, err == nil && strings.HasPrefix(line, "event: "), "%s: got %q %v, want an event", path, line, err)
		answer.Body.Close()
		harness.WantCode(t, "the slot is to be free", postOpenAI(s, `{"model":"m","messages":[{"role":"user","content":"x"}]}`), 200)
	}
}
