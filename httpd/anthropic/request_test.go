package anthropic

import (
	"strings"
	"testing"

	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// TestRead_Chat compares the chat completions that requests become.
func TestRead_Chat(t *testing.T) {
	const limit = `{"max_tokens":9,`
	for body, want := range map[string]string{
		`"model":"m","messages":[{"role":"user","content":"a"}]}`: `"model":"m","messages":[{"role":"user","content":"a"}]}`,
		`"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"top_k":3,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`://
		`"top_k":3,"messages":[{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`"tools":[{"name":"f","description":"d","input_schema":{}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[{"role":"user","content":"a"}]}`://
		`"parallel_tool_calls":false,"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{}}}],"tool_choice":"required","messages":[{"role":"user","content":"a"}]}`,
		`"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"f","input":{"b":"c"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"text","text":"d"}]}]}`: //
		`"messages":[{"role":"assistant","content":[{"type":"text","text":"a"}],"reasoning_content":"t","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"b\":\"c\"}"}}]},` +
			`{"role":"tool","tool_call_id":"1","content":"r"},{"role":"user","content":[{"type":"text","text":"d"}]}]}`,
		`"context_management":{"edits":[]},"tools":[{"type":"web_search_20260318","name":"web_search"},{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"auto"},"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t\n"},{"type":"server_tool_use","id":"1"},{"type":"thinking","thinking":"u"}]}]}`: //
		`"context_management":{"edits":[]},"tools":[{"type":"function","function":{"name":"bash","description":"Runs a command in a shell that stays open, and returns what it prints.","parameters":` +
			`{"type":"object","properties":{"command":{"type":"string","description":"the command to run"},"restart":{"type":"boolean","description":"true starts a new shell, without a command"}}}}}],"tool_choice":"auto",` +
			`"messages":[{"role":"assistant","content":null,"reasoning_content":"t\n\nu"}]}`,
		`"messages":[{"role":"user","content":[{"type":"search_result","title":"s","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"c"},{"type":"fallback"}]}},` +
			`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"f","input_schema":{}}}}]}]}`: //
		`"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"messages":[{"role":"user","content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c"}]}]}`,
		`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"document","source":{"type":"text","data":"x"}}]}]}`://
		`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"x"}]}]}`,
	} {
		d, err := read(nil, []byte(limit+body))
		if err != nil {
			t.Errorf("%s: got the error %v, want nil", body, err)
		} else if got := strings.TrimPrefix(string(d.Chat()), limit); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}

// TestRead_Errors compares the parameter of wrong requests.
func TestRead_Errors(t *testing.T) {
	for body, want := range map[string]string{
		`{"max_tokens":1}`: "messages",
		`{"messages":[]}`:  "max_tokens",
		`{"max_tokens":1.5,"messages":[{"role":"user","content":"a"}]}`:                                                      "max_tokens",
		`{"max_tokens":1,"messages":[]}`:                                                                                     "messages",
		`{"max_tokens":1,"messages":[{"role":"tool","content":"a"}]}`:                                                        "messages[0].role",
		`{"max_tokens":1,"messages":[{"role":"user"}]}`:                                                                      "messages[0].content",
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_use"}]}]}`:                                      "messages[0].content[0].type",
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`:                                   "messages[0].content[0].tool_use_id",
		`{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":"x"}]}]}`: "messages[0].content[0].input",
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"}]}]}`:                                         "messages[0].content[0].source.type",
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"stop_sequences":["\n"]}`:                                "stop_sequences[0]",
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"type":"bash_20250124"}]}`:                     "tools[0].name",
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f"}]}`:                                 "tools[0].input_schema",
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"thread":{"type":"create"}}`:                             "thread",
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"n":2}`:                                                  "n",
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"system":3}`:                                             "system",
	} {
		_, err := read(nil, []byte(body))
		assert.True(t, err != nil && err.Param == want && err.Status == 400, "%s: got %+v, want the parameter %q", body, err, want)
	}
}

// FuzzRead: what a request becomes is valid JSON for every request.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","input_schema":{}}],"stop_sequences":["a"]}`,
		`{"max_tokens":1,"system":[{"type":"text","text":"\ud83d\ude00"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]}`,
		`{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}],"thinking":{"type":"enabled","budget_tokens":5}}`,
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"a","data":"b"}}]}],"output_config":{"format":{"type":"json_schema","schema":{}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := read(nil, body)
		if err != nil {
			return
		}
		if bad := rawjson.Check(d.Chat()); bad != nil {
			t.Fatalf("%s\nbecomes %s\ngot %v, want no error", body, d.Chat(), bad)
		}
	})
}

// TestStream_Blocks compares the events of thoughts, text and tool calls.
func TestStream_Blocks(t *testing.T) {
	d := &dialog{}
	out := d.Begin(nil, openai.Head{ID: "x", Model: "m"})
	for _, part := range []openai.Delta{
		{Reasoning: []byte("r")},
		{Text: []byte("a")},
		{Text: []byte("b")},
		{Calls: []openai.CallPart{{Index: 0, ID: []byte("1"), Name: []byte("f")}}},
		{Calls: []openai.CallPart{
			{Index: 0, Arguments: []byte("{}")},
			{Index: 1, ID: []byte("2"), Name: []byte("g"), Arguments: []byte("{}")},
		}},
	} {
		out = d.Delta(out, &part)
	}
	out = d.End(out, openai.Finish{Reason: "tool_calls"}, openai.Usage{Prompt: 1, Completion: 2})
	var got []string
	for line := range strings.Lines(string(out)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			got = append(got, strings.TrimSpace(data))
			err := rawjson.Check([]byte(got[len(got)-1]))
			assert.True(t, err == nil, "%s: got %v, want no error", data, err)
		}
	}
	want := []string{
		`{"type":"message_start","message":{"id":"msg_x","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"r"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"2","name":"g","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":1,"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}
