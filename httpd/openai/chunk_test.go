package openai

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

// streamed returns the events of a stream whose predictions yield these items, one after another.
func streamed(t *testing.T, f *Function, body string, predictions ...[]string) (events []string, stopped []bool) {
	t.Helper()
	r, err := readJSON(f, body)
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	c := r.NewChunks(head)
	var out []byte
	for p, items := range predictions {
		stopped = append(stopped, false)
		out = c.Begin(out, p)
		for _, item := range items {
			out, stopped[p], err = c.Item(out, p, []byte(item))
			assert.TrueNow(t, err == nil, "got %+v, want nil", err)
			if stopped[p] {
				break
			}
		}
		out, err = c.End(out, p)
		assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	}
	out = c.Done(out, Usage{Prompt: 3, Completion: 2})
	text := string(out)
	if !strings.HasSuffix(text, "\n\n") {
		t.Fatalf("the stream ends with %q, want it to end in %q", text[max(0, len(text)-20):], "\n\n")
	}
	return strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n"), stopped
}

func wantEvents(t *testing.T, name string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// chatChunk returns the chunk of a chat with this delta.
func chatChunk(delta, finish string) string {
	return `data: {"id":"chatcmpl-p1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

func TestChunk_Streams(t *testing.T) {
	chat := function(t, "chat", items, messages)
	role, end := chatChunk(`{"role":"assistant","content":""}`, "null"), chatChunk(`{}`, `"stop"`)
	const done = "data: [DONE]"
	word := func(s string) string { return chatChunk(`{"content":"`+s+`"}`, "null") }
	for _, c := range []struct {
		name, more string
		items      []string
		want       []string
		stopped    bool
	}{
		{"texts", "", []string{`"a"`, `"b\n"`}, []string{role, word("a"), word(`b\n`), end, done}, false},
		{"nothing", "", nil, []string{role, end, done}, false},
		{
			"stop in an item", `,"stop":"X"`,
			[]string{`"a"`, `"bXc"`, `"d"`},
			[]string{role, word("a"), word("b"), end, done},
			true,
		},
		{
			"stop across items", `,"stop":["END","zz"]`,
			[]string{`"a"`, `"bE"`, `"N"`, `"Dc"`},
			[]string{role, word("a"), word("b"), end, done},
			true,
		},
		{
			"held, and no stop", `,"stop":["END"]`,
			[]string{`"E"`, `"N"`, `"x"`, `"E"`},
			[]string{role, word("E"), word("N"), word("x"), word("E"), end, done},
			false,
		},
		{"stop at once", `,"stop":["END"]`, []string{`"END"`}, []string{role, end, done}, true},
		{
			"dicts", "",
			[]string{`{"content":"a"}`, `{"refusal":"no","extra":1}`, `{"finish_reason":"length"}`},
			[]string{role, word("a"), chatChunk(`{"refusal":"no","extra":1}`, "null"), chatChunk(`{}`, `"length"`), done},
			false,
		},
		{
			"tool calls", "",
			[]string{
				`{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":""}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`,
				`{"tool_calls":[{"id":"c2","function":{"name":"g","arguments":{}}}]}`,
			},
			[]string{
				role, chatChunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`,
					"null"),
				chatChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`, "null"),
				chatChunk(`{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]}`,
					"null"),
				chatChunk(`{}`, `"tool_calls"`), done,
			},
			false,
		},
	} {
		got, stopped := streamed(t, chat, chatBody+`,"stream":true`+c.more+`}`, c.items)
		wantEvents(t, c.name, got, c.want)
		assert.Equal(t, c.name+": stopped", stopped[0], c.stopped)
	}
}

func TestChunk_StreamUsage(t *testing.T) {
	const prefix = `data: {"id":"chatcmpl-p1","object":"chat.completion.chunk","created":7,"model":"m","choices":[`
	got, _ := streamed(t, function(t, "chat", items, messages),
		chatBody+`,"stream":true,"stream_options":{"include_usage":true}}`, []string{`"a"`})
	wantEvents(t, "usage", got, []string{
		prefix + `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
		prefix + `{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null}`,
		prefix + `{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
		prefix + `],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
		"data: [DONE]",
	})
}

func TestChunk_StreamOfCompletions(t *testing.T) {
	const prefix = `data: {"id":"cmpl-p1","object":"text_completion","created":7,"model":"m","choices":[{"index":`
	got, _ := streamed(t, function(t, "completions", items, `"prompt":{"type":"string"}`),
		`{"model":"m","prompt":["x","y"],"stream":true}`, []string{`"a"`}, []string{`"b"`})
	wantEvents(t, "completions", got, []string{
		prefix + `0,"text":"a","logprobs":null,"finish_reason":null}]}`,
		prefix + `0,"text":"","logprobs":null,"finish_reason":"stop"}]}`,
		prefix + `1,"text":"b","logprobs":null,"finish_reason":null}]}`,
		prefix + `1,"text":"","logprobs":null,"finish_reason":"stop"}]}`,
		"data: [DONE]",
	})
}

func TestChunk_StreamOfTranscription(t *testing.T) {
	r := &Request{Endpoint: Transcriptions, Inputs: [][]byte{nil}, perPrompt: 1, choices: 1, format: "json", Stream: true}
	c := r.NewChunks(head)
	out, _, err := c.Item(nil, 0, []byte(`"a"`))
	if err == nil {
		out, _, err = c.Item(out, 0, []byte(`{"text":"b"}`))
	}
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	out, _ = c.End(out, 0)
	const want = "data: {\"type\":\"transcript.text.delta\",\"delta\":\"a\"}\n\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\"b\"}\n\n" +
		"data: {\"type\":\"transcript.text.done\",\"text\":\"ab\"}\n\n"
	assert.Equal(t, "the stream", string(c.Done(out, Usage{})), want)
}

func TestChunk_WholeOutputIsOneChunk(t *testing.T) {
	r, _ := readJSON(function(t, "chat", oneText, messages), chatBody+`,"stream":true}`)
	c := r.NewChunks(head)
	out, err := c.Output(c.Begin(nil, 0), 0, []byte(`"whole text"`))
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	out, _ = c.End(out, 0)
	want := []string{
		chatChunk(`{"role":"assistant","content":""}`, "null"), chatChunk(`{"content":"whole text"}`, "null"),
		chatChunk(`{}`, `"stop"`),
	}
	wantEvents(t, "one chunk", strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n"), want)
}

func TestChunk_BadItem(t *testing.T) {
	r, _ := readJSON(function(t, "chat", items, messages), chatBody+`,"stream":true}`)
	_, _, err := r.NewChunks(head).Item(nil, 0, []byte(`3`))
	assert.True(t, err != nil && strings.Contains(err.Message, "yielded an integer"),
		"got error %v, want that it yielded an integer", err)
	got := string(AppendFailure(nil, err))
	assert.True(t, strings.HasPrefix(got, `data: {"error":{"message":`) && strings.HasSuffix(got, "}}\n\n"),
		"got %q, want an event with an error", got)
}

func BenchmarkChunk(b *testing.B) {
	r, _ := readJSON(function(b, "chat", items, messages), chatBody+`,"stream":true}`)
	c := r.NewChunks(head)
	item := []byte(`" token"`)
	out := c.Begin(nil, 0)
	for b.Loop() {
		out, _, _ = c.Item(out[:0], 0, item)
	}
}
