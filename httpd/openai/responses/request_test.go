package responses

import (
	"strings"
	"testing"

	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// TestRead_Chat compares the chat completions that requests become.
func TestRead_Chat(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m","input":"a"}`: `{"model":"m","messages":[{"role":"user","content":"a"}]}`,
		`{"instructions":"i","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"u","detail":"low"}]}]}`://
		`{"messages":[{"role":"system","content":"i"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u","detail":"low"}}]}]}`,
		`{"max_output_tokens":5,"temperature":0,"store":true,"top_k":3,"previous_response_id":null,"background":false,"reasoning":{"effort":"low"},"text":{"verbosity":"low"},"input":"a"}`://
		`{"max_completion_tokens":5,"temperature":0,"store":true,"top_k":3,"reasoning_effort":"low","verbosity":"low","messages":[{"role":"user","content":"a"}]}`,
		`{"tools":[{"type":"function","name":"f","parameters":{},"strict":true}],"tool_choice":{"type":"function","name":"f"},"input":"a"}`://
		`{"tools":[{"type":"function","function":{"name":"f","parameters":{},"strict":true}}],"tool_choice":{"type":"function","function":{"name":"f"}},"messages":[{"role":"user","content":"a"}]}`,
		`{"text":{"format":{"type":"json_schema","name":"n","schema":{"a":1},"strict":true}},"input":"a"}`://
		`{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"a":1},"strict":true}},"messages":[{"role":"user","content":"a"}]}`,
		`{"input":[{"type":"message","role":"assistant","content":"t"},{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},` +
			`{"type":"function_call","call_id":"2","name":"g","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"o"},{"role":"developer","content":"d"}]}`: //
		`{"messages":[{"role":"assistant","content":"t","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},` +
			`{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"o"},{"role":"developer","content":"d"}]}`,
		`{"tools":[{"type":"web_search"},{"type":"custom","name":"patch","description":"d","format":{"type":"text"}},{"type":"namespace","name":"mcp","description":"","tools":[{"type":"function","name":"f"}]},` +
			`{"type":"tool_search","execution":"client","parameters":{"a":1}},{"type":"later","name":"l","parameters":{}}],"tool_choice":{"type":"function","name":"f","namespace":"mcp"},"input":"a"}`: //
		`{"tools":[{"type":"function","function":{"name":"patch","description":"d","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}},` +
			`{"type":"function","function":{"name":"mcp__f"}},{"type":"function","function":{"name":"tool_search","description":"Searches for further tools.","parameters":{"a":1}}},` +
			`{"type":"function","function":{"name":"l","parameters":{}}}],"tool_choice":{"type":"function","function":{"name":"mcp__f"}},"messages":[{"role":"user","content":"a"}]}`,
		`{"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]},"input":"a"}`://
		`{"tools":[{"type":"function","function":{"name":"g"}}],"tool_choice":"required","messages":[{"role":"user","content":"a"}]}`,
		`{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"t"}]},{"type":"custom_tool_call","call_id":"1","name":"patch","input":"x"},{"type":"reasoning","summary":[{"type":"summary_text","text":"u"}]},` +
			`{"type":"local_shell_call","id":"i","call_id":"2","action":{"type":"exec","command":["ls"]}},{"type":"custom_tool_call_output","call_id":"1","output":"o"},{"type":"local_shell_call_output","id":"2","output":"p"},` +
			`{"type":"web_search_call","id":"w"},{"type":"shell_call_output","call_id":"3","output":[{"stdout":"q"}]}]}`: //
		`{"messages":[{"role":"assistant","content":null,"reasoning_content":"t\nu","tool_calls":[{"id":"1","type":"function","function":{"name":"patch","arguments":"{\"input\":\"x\"}"}},` +
			`{"id":"2","type":"function","function":{"name":"local_shell","arguments":"{\"type\":\"exec\",\"command\":[\"ls\"]}"}}]},` +
			`{"role":"tool","tool_call_id":"1","content":"o"},{"role":"tool","tool_call_id":"2","content":"p"},` +
			`{"role":"tool","tool_call_id":"3","content":"{\"type\":\"shell_call_output\",\"call_id\":\"3\",\"output\":[{\"stdout\":\"q\"}]}"}]}`,
		`{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},{"role":"assistant","content":"a"},{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}]},{"role":"user","content":[{"type":"new","text":"b"}]},{"type":"new","content":[{"text":"c"}]}]}`://
		`{"messages":[{"role":"assistant","content":"a","reasoning_content":"s"},{"role":"assistant","content":null,"reasoning_content":"t"},{"role":"user","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}`,
		`{"input":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}]}`://
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`,
	} {
		d, err := read(nil, []byte(body))
		if err != nil {
			t.Errorf("%s: got the error %v, want nil", body, err)
		} else if got := string(d.Chat()); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}

// TestRead_Errors compares the parameter and the code of wrong requests.
func TestRead_Errors(t *testing.T) {
	for body, want := range map[string][2]string{
		`{}`:                                     {"input", openai.CodeMissingParameter},
		`[]`:                                     {"", openai.CodeInvalidType},
		`{"input":3}`:                            {"input", openai.CodeInvalidType},
		`{"input":[3]}`:                          {"input[0]", openai.CodeInvalidType},
		`{"input":[{}]}`:                         {"input[0].type", openai.CodeMissingParameter},
		`{"input":[{"type":"item_reference"}]}`:  {"input[0].type", openai.CodeUnsupportedParameter},
		`{"input":[{"role":"x","content":"a"}]}`: {"input[0].role", openai.CodeInvalidValue},
		`{"input":[{"role":"user"}]}`:            {"input[0].content", openai.CodeMissingParameter},
		`{"input":[{"role":"user","content":[{"type":"x"}]}]}`: {"input[0].content[0].type", openai.CodeUnsupportedParameter},
		`{"input":[{"role":"user","content":[{"type":"input_text","text":1}]}]}`: {
			"input[0].content[0].text",
			openai.CodeInvalidType,
		},
		`{"input":[{"type":"function_call","call_id":"1","name":"f"}]}`:                                                   {"input[0].arguments", openai.CodeMissingParameter},
		`{"input":"a","tools":[{"name":"f"}]}`:                                                                            {"tools[0].type", openai.CodeMissingParameter},
		`{"input":"a","tools":[{"type":"web_search"}],"tool_choice":"required"}`:                                          {"tool_choice", openai.CodeUnsupportedParameter},
		`{"input":"a","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}}`:                               {"tool_choice.type", openai.CodeUnsupportedParameter},
		`{"input":"a","tools":[{"type":"shell","environment":{"type":"container_auto"}}],"tool_choice":{"type":"shell"}}`: {"tool_choice", openai.CodeInvalidValue},
		`{"input":[{"type":"compaction","encrypted_content":"x"}]}`:                                                       {"input[0].type", openai.CodeUnsupportedParameter},
		`{"input":[{"type":"custom_tool_call","call_id":"1","name":"f"}]}`:                                                {"input[0].input", openai.CodeMissingParameter},
		`{"input":"a","tools":{}}`:                                 {"tools", openai.CodeInvalidType},
		`{"input":"a","tools":[{"type":"function"}]}`:              {"tools[0].name", openai.CodeMissingParameter},
		`{"input":"a","tool_choice":3}`:                            {"tool_choice", openai.CodeInvalidType},
		`{"input":"a","conversation":"c"}`:                         {"conversation", openai.CodeUnsupportedParameter},
		`{"input":"a","background":true}`:                          {"background", openai.CodeUnsupportedParameter},
		`{"input":"a","n":2}`:                                      {"n", openai.CodeUnknownParameter},
		`{"input":"a","messages":[]}`:                              {"messages", openai.CodeUnknownParameter},
		`{"input":"a","instructions":["b"]}`:                       {"instructions", openai.CodeInvalidType},
		`{"input":"a","text":{"format":{"type":"x"}}}`:             {"text.format.type", openai.CodeInvalidValue},
		`{"input":"a","include":["message.output_text.logprobs"]}`: {"include[0]", openai.CodeUnsupportedParameter},
	} {
		_, err := read(nil, []byte(body))
		assert.True(t, err != nil && err.Param == want[0] && err.Code == want[1], "%s: got %+v, want %q", body, err, want)
	}
}

// TestRead_Notes compares what the client is told.
func TestRead_Notes(t *testing.T) {
	d, err := read(nil, []byte(`{"input":[{"role":"user","content":"a"},{"type":"web_search_call","id":"1"}],"client_metadata":{"a":"b"},"image":{},`+
		`"tools":[{"type":"web_search"},{"type":"image_generation"},{"type":"tool_search"}],"reasoning":{"effort":"low"}}`))
	assert.TrueNow(t, err == nil, "got the error %v, want nil", err)
	labels, left := d.Notes()
	assert.Equal(t, "labels", strings.Join(labels, " "), "client_metadata image reasoning_effort")
	const vendors = ", which only a vendor's servers run"
	assert.Equal(t, "left out", strings.Join(left, "; "), "the tool web_search"+vendors+"; the tool image_generation"+vendors+
		"; the tool tool_search"+vendors+"; items of type web_search_call")
}

// TestDialog_CallsOfTools compares the items of calls of tools that have a type, as an answer and as a stream has them.
func TestDialog_CallsOfTools(t *testing.T) {
	const tools = `[{"type":"custom","name":"patch"},{"type":"local_shell"},{"type":"shell"},{"type":"apply_patch"},{"type":"computer"},` +
		`{"type":"tool_search","execution":"client","parameters":{}},{"type":"namespace","name":"mcp","tools":[{"type":"function","name":"f"}]}]`
	for call, want := range map[[2]string]string{
		{"patch", `{\"input\":\"a\\nb\"}`}:            `"type":"custom_tool_call","call_id":"c","name":"patch","input":"a\nb"`,
		{"patch", `a`}:                                `"type":"function_call","call_id":"c","name":"patch","arguments":"a"`,
		{"local_shell", `{\"command\":[\"ls\"]}`}:     `"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]}`,
		{"shell", `{\"commands\":[\"ls\"]}`}:          `"type":"shell_call","call_id":"c","action":{"commands":["ls"]}`,
		{"apply_patch", `{\"type\":\"delete_file\"}`}: `"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file"}`,
		{"computer", `{\"type\":\"wait\"}`}:           `"type":"computer_call","call_id":"c","pending_safety_checks":[],"action":{"type":"wait"}`,
		{"tool_search", `{\"q\":1}`}:                  `"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"q":1}`,
		{"mcp__f", `{}`}:                              `"type":"function_call","call_id":"c","name":"f","namespace":"mcp","arguments":"{}"`,
		{"other", `{}`}:                               `"type":"function_call","call_id":"c","name":"other","arguments":"{}"`,
	} {
		part := openai.CallPart{ID: []byte("c"), Name: []byte(call[0]), Arguments: []byte(call[1])}
		opened, err := read(nil, []byte(`{"input":"a","tools":`+tools+`}`))
		assert.TrueNow(t, err == nil, "got the error %v, want nil", err)
		answer, err := opened.Answer(nil, openai.Head{ID: "x"}, &openai.Message{Delta: openai.Delta{Calls: []openai.CallPart{part}}}, openai.Usage{})
		item := `{"id":"fc_x_0",` + want + `,"status":"completed"}`
		assert.True(t, err == nil && strings.Contains(string(answer), `"output":[`+item+`]`), "%s: got %s %v, want %s", call, answer, err, item)

		opened, _ = read(nil, []byte(`{"input":"a","tools":`+tools+`}`))
		stream := opened.Begin(nil, openai.Head{ID: "x"})
		stream = opened.Delta(stream, &openai.Delta{Calls: []openai.CallPart{{
			ID: part.ID, Name: part.Name,
			Arguments: part.Arguments[:1],
		}}})
		stream = opened.Delta(stream, &openai.Delta{Calls: []openai.CallPart{{Arguments: part.Arguments[1:]}}})
		stream = opened.End(stream, openai.Finish{Reason: "tool_calls"}, openai.Usage{})
		assert.True(t, strings.Count(string(stream), item) == 2 && strings.Count(string(stream), "event: response.output_item.added") == 1,
			"%s: got %s, want one item that is done, and in the response: %s", call, stream, item)
		for line := range strings.Lines(string(stream)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				assert.True(t, rawjson.Check([]byte(strings.TrimSpace(data))) == nil, "%s: got %s, want JSON", call, data)
			}
		}
	}
}

// FuzzRead: what a request becomes is valid JSON for every request, and its events and answers are too.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"input":"a","tools":[{"type":"function","name":"f"}]}`,
		`{"input":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":[{"type":"input_file","file_data":"x"}]}]}`,
		`{"input":[{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}],"text":{"format":{"type":"json_object"}}}`,
		`{"input":"\ud83d\ude00","metadata":{"a":"b"},"temperature":1e400,"include":[],"truncation":"auto","text":{}}`,
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
		answer, err := d.Answer(nil, openai.Head{ID: "x"}, &openai.Message{Delta: openai.Delta{Text: []byte("a")}},
			openai.Usage{})
		assert.TrueNow(t, err == nil && rawjson.Check(answer) == nil, "%s, want nil\nis answered with %s %v", body, answer, err)
	})
}
