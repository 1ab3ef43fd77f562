package responses

import (
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
		`{"input":[{"role":"user","content":[{"type":"x"}]}]}`: {"input[0].content[0].type", openai.CodeInvalidValue},
		`{"input":[{"role":"user","content":[{"type":"input_text","text":1}]}]}`: {
			"input[0].content[0].text",
			openai.CodeInvalidType,
		},
		`{"input":[{"type":"function_call","call_id":"1","name":"f"}]}`: {"input[0].arguments", openai.CodeMissingParameter},
		`{"input":"a","tools":[{"type":"web_search"}]}`:                 {"tools[0].type", openai.CodeUnsupportedParameter},
		`{"input":"a","tools":{}}`:                                      {"tools", openai.CodeInvalidType},
		`{"input":"a","tools":[{"type":"function"}]}`:                   {"tools[0].name", openai.CodeMissingParameter},
		`{"input":"a","tool_choice":3}`:                                 {"tool_choice", openai.CodeInvalidType},
		`{"input":"a","conversation":"c"}`:                              {"conversation", openai.CodeUnsupportedParameter},
		`{"input":"a","background":true}`:                               {"background", openai.CodeUnsupportedParameter},
		`{"input":"a","n":2}`:                                           {"n", openai.CodeUnknownParameter},
		`{"input":"a","messages":[]}`:                                   {"messages", openai.CodeUnknownParameter},
		`{"input":"a","instructions":["b"]}`:                            {"instructions", openai.CodeInvalidType},
		`{"input":"a","text":{"format":{"type":"x"}}}`:                  {"text.format.type", openai.CodeInvalidValue},
		`{"input":"a","include":["message.output_text.logprobs"]}`:      {"include[0]", openai.CodeUnsupportedParameter},
	} {
		_, err := read(nil, []byte(body))
		assert.True(t, err != nil && err.Param == want[0] && err.Code == want[1], "%s: got %+v, want %q", body, err, want)
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
