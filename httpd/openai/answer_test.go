package openai

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

var head = Head{ID: "p1", Created: 7, Model: "m"}

func results(outputs ...string) []Result {
	var list []Result
	for _, o := range outputs {
		list = append(list, Result{
			Output:  []byte(o),
			Metrics: []byte(`{"predict_time":0.1,"input_token_count":3,"output_token_count":2}`),
		})
	}
	return list
}

const (
	chatBody   = `{"model":"m","messages":[{"role":"user","content":"hi"}]`
	chatHead   = `{"id":"chatcmpl-p1","object":"chat.completion","created":7,"model":"m","choices":[`
	oneUsage   = `],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
	endOfText  = `,"refusal":null},"logprobs":null,"finish_reason":"stop"}`
	firstReply = `{"index":0,"message":{"role":"assistant","content":`
)

func TestAnswer_Objects(t *testing.T) {
	chat := function(t, "chat", items, messages)
	many := function(t, "chat", `{}`, messages, `"n":{"type":"integer"}`)
	completions := function(t, "completions", items, `"prompt":{"type":"string"}`)
	lists := function(t, "completions", `{}`, `"prompt":{"type":"array","items":{"type":"string"}}`)
	embed := function(t, "embeddings", `{}`, `"input":{"type":"array","items":{"type":"string"}}`)
	each := function(t, "embeddings", `{}`, `"input":{"type":"string"}`)
	images := function(t, "images", `{}`, `"prompt":{"type":"string"}`)
	for _, c := range []struct {
		name    string
		f       *Function
		body    string
		outputs []string
		want    string
	}{
		{
			"a str", chat, chatBody + `}`,
			[]string{`"he\u006clo"`},
			chatHead + firstReply + `"he\u006clo"` + endOfText + oneUsage,
		},
		{"items", chat, chatBody + `}`, []string{`["a","b",""]`}, chatHead + firstReply + `"ab"` + endOfText + oneUsage},
		{"no item", chat, chatBody + `}`, []string{`[]`}, chatHead + firstReply + `""` + endOfText + oneUsage},
		{
			"stop across items", chat, chatBody + `,"stop":["END"]}`,
			[]string{`["one E","ND two"]`},
			chatHead + firstReply + `"one "` + endOfText + oneUsage,
		},
		{
			"deltas of each field", chat, chatBody + `}`,
			[]string{`[{"reasoning_content":"let me "},{"reasoning_content":"see","refusal":"n","details":[ 1 ],"audio":{"id":"a","data":"x"}},
				{"refusal":"o","details":[2, 3],"audio":{"data":"y","end":5},"score":1},{"score":2,"details":[]}]`},
			chatHead + firstReply + `null,"refusal":"no","reasoning_content":"let me see","details":[1,2,3],"audio":{"id":"a","data":"xy","end":5},"score":2},"logprobs":null,"finish_reason":"stop"}` + oneUsage,
		},
		{
			"a dict", chat, chatBody + `}`,
			[]string{`{"content":"x","finish_reason":"length","reasoning":"y"}`},
			chatHead + firstReply + `"x","refusal":null,"reasoning":"y"},"logprobs":null,"finish_reason":"length"}` + oneUsage,
		},
		{
			"a refusal", chat, chatBody + `}`,
			[]string{`{"refusal":"no"}`},
			chatHead + firstReply + `null,"refusal":"no"},"logprobs":null,"finish_reason":"stop"}` + oneUsage,
		},
		{
			"tool calls", chat, chatBody + `}`,
			[]string{`{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"a": 1}}}]}`},
			chatHead + firstReply + `null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},"logprobs":null,"finish_reason":"tool_calls"}` + oneUsage,
		},
		{
			"tool calls in parts", chat, chatBody + `}`,
			[]string{`[{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}]},{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}]`},
			chatHead + firstReply + `null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}` + oneUsage,
		},
		{
			"n by the server", chat, chatBody + `,"n":2}`,
			[]string{`"a"`, `"b"`},
			chatHead + firstReply + `"a"` + endOfText + `,` + strings.Replace(firstReply, "0", "1", 1) + `"b"` + endOfText +
				`],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
		},
		{
			"n by the function", many, chatBody + `,"n":2}`,
			[]string{`["a","b"]`},
			chatHead + firstReply + `"a"` + endOfText + `,` + strings.Replace(firstReply, "0", "1", 1) + `"b"` + endOfText +
				oneUsage,
		},
		{
			"completions", completions, `{"model":"m","prompt":["x","y"]}`,
			[]string{`["a"]`, `["b"]`},
			`{"id":"cmpl-p1","object":"text_completion","created":7,"model":"m","choices":[{"text":"a","index":0,"logprobs":null,"finish_reason":"stop"},{"text":"b","index":1,"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10}}`,
		},
		{
			"prompts in one call", lists, `{"model":"m","prompt":["x","y"]}`,
			[]string{`["a","b"]`},
			`{"id":"cmpl-p1","object":"text_completion","created":7,"model":"m","choices":[{"text":"a","index":0,"logprobs":null,"finish_reason":"stop"},{"text":"b","index":1,"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
		},
		{
			"embeddings", embed, `{"model":"m","input":["x","y"]}`,
			[]string{`[[1,2.5],[3,4]]`},
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1,2.5]},{"object":"embedding","index":1,"embedding":[3,4]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`,
		},
		{
			"embeddings one by one", each, `{"model":"m","input":["x","y"],"encoding_format":"base64"}`,
			[]string{`[1,-2]`, `[0.5,1e40]`},
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPwAAAMA="},{"object":"embedding","index":1,"embedding":"AAAAPwAAgH8="}],"model":"m","usage":{"prompt_tokens":6,"total_tokens":6}}`,
		},
		{
			"images", images, `{"model":"m","prompt":"x","n":2}`,
			[]string{`"data:image/png;base64,QUI="`, `["https://host/a.png"]`},
			`{"created":7,"data":[{"b64_json":"QUI="},{"url":"https://host/a.png"}]}`,
		},
		{
			"images as URLs", images, `{"model":"m","prompt":"x","response_format":"url"}`,
			[]string{`"data:image/png;base64,QUI="`},
			`{"created":7,"data":[{"url":"data:image/png;base64,QUI="}]}`,
		},
	} {
		r, err := readJSON(c.f, c.body)
		if err != nil {
			t.Errorf("%s: %v, want nil", c.name, err)
			continue
		}
		body, kind, err := r.Answer(head, results(c.outputs...))
		assert.True(t, err == nil && kind == ContentJSON && string(body) == c.want, "%s: %v\n got %s\nwant %s", c.name, err, body, c.want)
	}
}

func TestAnswer_FillsInToolCalls(t *testing.T) {
	r, _ := readJSON(function(t, "chat", `{}`, messages), chatBody+`}`)
	body, _, err := r.Answer(head,
		results(`{"tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":"{}"}}]}`))
	if err != nil || strings.Count(string(body), `"id":"call_`) != 2 ||
		strings.Count(string(body), `"type":"function"`) != 2 {
		t.Errorf("got %v %s, want two calls of functions with an id each", err, body)
	}
}

func TestAnswer_BadOutputs(t *testing.T) {
	chat := function(t, "chat", `{}`, messages)
	embed := function(t, "embeddings", `{}`, `"input":{"type":"string"}`)
	images := function(t, "images", `{}`, `"prompt":{"type":"string"}`)
	for _, c := range []struct {
		f            *Function
		body, output string
		message      string
	}{
		{chat, chatBody + `}`, `3`, "returned an integer"},
		{chat, chatBody + `}`, `{"content":3}`, "as content"},
		{chat, chatBody + `}`, `{"tool_calls":3}`, "as tool_calls"},
		{chat, chatBody + `}`, `{"tool_calls":[3]}`, "as a tool call"},
		{embed, `{"model":"m","input":"a"}`, `"a"`, "returned a string"},
		{embed, `{"model":"m","input":"a"}`, `[1,"a"]`, "not a list of numbers"},
		{embed, `{"model":"m","input":"a"}`, `[[1],[2]]`, "2 embeddings for 1 inputs"},
		{images, `{"model":"m","prompt":"a"}`, `3`, "returned an integer"},
	} {
		r, err := readJSON(c.f, c.body)
		assert.TrueNow(t, err == nil, "got %+v, want nil", err)
		_, _, err = r.Answer(head, results(c.output))
		assert.True(t, err != nil && err.Status == 500 && err.Type == TypeServer && strings.Contains(err.Message, c.message),
			"%s: %+v, want Status 500, Type server_error and Message with %q", c.output, err, c.message)
	}
}

func TestAnswer_Transcriptions(t *testing.T) {
	const segments = `{"text":" Hello. World.","language":"en","segments":[{"start":0,"end":1.5,"text":" Hello."},{"start":3661.25,"end":3662,"text":" World.\n\nx","tokens":[1],"avg_logprob":-0.5,"temperature":null}]}`
	for _, c := range []struct{ format, output, kind, want string }{
		{"json", `"hi \u0061"`, ContentJSON, `{"text":"hi \u0061"}`},
		{"json", `["a","b"]`, ContentJSON, `{"text":"ab"}`},
		{"json", segments, ContentJSON, `{"text":" Hello. World."}`},
		{"text", segments, contentText, ` Hello. World.`},
		{
			"srt", segments, contentText,
			"1\n00:00:00,000 --> 00:00:01,500\nHello.\n\n2\n01:01:01,250 --> 01:01:02,000\nWorld.\nx\n\n",
		},
		{
			"vtt", segments, "text/vtt; charset=utf-8",
			"WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello.\n\n01:01:01.250 --> 01:01:02.000\nWorld.\nx\n\n",
		},
		{
			"vtt", `{"segments":[{"start":0,"end":1,"text":"a --> b"}]}`, "text/vtt; charset=utf-8",
			"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na -> b\n\n",
		},
		{
			"verbose_json", segments, ContentJSON,
			`{"task":"transcribe","duration":3662,"language":"en","text":" Hello. World.","segments":[{"id":0,"start":0,"end":1.5,"text":" Hello.","seek":0,"tokens":[],"temperature":0,"avg_logprob":0,"compression_ratio":0,"no_speech_prob":0},` +
				`{"id":1,"start":3661.25,"end":3662,"text":" World.\n\nx","tokens":[1],"avg_logprob":-0.5,"seek":0,"temperature":0,"compression_ratio":0,"no_speech_prob":0}]}`,
		},
		{"verbose_json", `"a"`, ContentJSON, `{"task":"transcribe","duration":0,"language":"","text":"a","segments":[]}`},
		{"srt", `"a"`, "", `'srt' needs the times of segments`},
		{"json", `{"segments":[{"start":0,"end":1}]}`, "", `lacks start, end or text`},
	} {
		r := &Request{Endpoint: Transcriptions, Inputs: [][]byte{nil}, perPrompt: 1, choices: 1, format: c.format}
		body, kind, err := r.Answer(head, results(c.output))
		if err != nil {
			body = []byte(err.Message)
		}
		assert.True(t, kind == c.kind && strings.Contains(string(body), c.want) && (err != nil || string(body) == c.want),
			"%s of %s: %s\n got %q\nwant %q", c.format, c.output, kind, body, c.want)
	}
}
