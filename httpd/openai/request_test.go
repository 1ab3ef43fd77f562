package openai

import (
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// function returns a function whose inputs have these schemas.
func function(t testing.TB, endpoint, output string, inputs ...string) *Function {
	t.Helper()
	document := `{"paths":{"/predictions":{"post":{"x-cog-openai":"` + endpoint +
		`"}}},"components":{"schemas":{"Input":{"properties":{` +
		strings.Join(inputs, ",") + `}},"Output":` + output + `}}}`
	f, err := ReadFunction([]byte(document))
	assert.TrueNow(t, err == nil && f != nil, "ReadFunction: %v, %v, want non-nil", f, err)
	return f
}

const (
	oneText  = `{"type":"string"}`
	items    = `{"type":"array","x-cog-array-type":"iterator","items":{"type":"string"}}`
	messages = `"messages":{"type":"array","items":{"type":"object"}}`
)

func readJSON(f *Function, body string) (*Request, *Error) {
	b, err := ParseJSON([]byte(body))
	if err != nil {
		return nil, err
	}
	return f.Read(b, free)
}

func TestRequest_ReadFunction(t *testing.T) {
	f, err := ReadFunction([]byte(`{"paths":{}}`))
	assert.True(t, f == nil && err == nil, "a model without @cog.openai: %v, %v", f, err)
	_, err = ReadFunction([]byte(`{"paths":{"/predictions":{"post":{"x-cog-openai":"moderations"}}}}`))
	assert.True(t, err != nil, "an unknown endpoint is accepted")
	if f := function(t, "chat", items, messages); !f.Iterates || f.Endpoint != Chat || !f.accepts("messages") {
		t.Errorf("got %+v, want a chat function that iterates and takes messages", f)
	}
}

func TestRead_Inputs(t *testing.T) {
	chat := function(t, "chat", items, messages, `"temperature":{"type":"number"}`, `"max_tokens":{"type":"integer"}`,
		`"voice":{"type":"string"}`)
	texts := function(t, "embeddings", `{}`, `"input":{"type":"array","items":{"type":"string"}}`)
	single := function(t, "embeddings", `{}`, `"input":{"type":"string"}`)
	tokens := function(t, "embeddings", `{}`, `"input":{"type":"array","items":{"type":"integer"}}`)
	either := function(t, "embeddings", `{}`,
		`"input":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`)
	completions := function(t, "completions", items, `"prompt":{"type":"string"}`)
	images := function(t, "images", `{}`, `"prompt":{"type":"string"}`, `"size":{"type":"string"}`)
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		f          *Function
		body, want string // inputs, by spaces
	}{
		{chat, `{"model":"m",` + hi + `}`, `{` + hi + `}`},
		{chat, `{"model":"m",` + hi + `,"temperature":0.5,"top_p":1,"user":"u"}`, `{` + hi + `,"temperature":0.5}`},
		{chat, `{"model":"m",` + hi + `,"temperature":null,"stop":null,"n":null,"stream":null,"tools":null}`, `{` + hi + `}`},
		{chat, `{"model":"m",` + hi + `,"max_completion_tokens":5}`, `{` + hi + `,"max_tokens":5}`},
		{chat, `{"model":"m",` + hi + `,"max_completion_tokens":5,"max_tokens":6}`, `{` + hi + `,"max_tokens":6}`},
		{chat, `{"model":"m",` + hi + `,"voice":"v"}`, `{` + hi + `,"voice":"v"}`},
		{chat, `{"model":"m",` + hi + `,"n":2}`, `{` + hi + `} {` + hi + `}`},
		{
			chat, `{"model":"m",` + hi +
				`,"tools":[],"response_format":{ "type": "text" },"modalities":["text"],"logprobs":false,"tool_choice":"none"}`,
			`{` + hi + `}`,
		},
		{texts, `{"model":"m","input":["a","b"]}`, `{"input":["a","b"]}`},
		{texts, `{"model":"m","input":"a"}`, `{"input":["a"]}`},
		{single, `{"model":"m","input":["a","b"]}`, `{"input":"a"} {"input":"b"}`},
		{single, `{"model":"m","input":"a"}`, `{"input":"a"}`},
		{either, `{"model":"m","input":"a"}`, `{"input":"a"}`},
		{either, `{"model":"m","input":["a","b"]}`, `{"input":["a","b"]}`},
		{tokens, `{"model":"m","input":[1,2]}`, `{"input":[1,2]}`},
		{tokens, `{"model":"m","input":[[1,2],[3]]}`, `{"input":[1,2]} {"input":[3]}`},
		{
			completions, `{"model":"m","prompt":["a","b"],"n":2}`,
			`{"prompt":"a"} {"prompt":"a"} {"prompt":"b"} {"prompt":"b"}`,
		},
		{
			images, `{"model":"m","prompt":"a","n":2,"size":"64x64"}`,
			`{"prompt":"a","size":"64x64"} {"prompt":"a","size":"64x64"}`,
		},
	} {
		r, err := readJSON(c.f, c.body)
		if err != nil {
			t.Errorf("%s: %v, want nil", c.body, err)
			continue
		}
		var got []string
		for _, in := range r.Inputs {
			got = append(got, string(in))
		}
		assert.Equal(t, c.body, strings.Join(got, " "), c.want)
	}
}

func TestRead_Refusals(t *testing.T) {
	chat := function(t, "chat", items, messages)
	tools := function(t, "chat", items, messages, `"tools":{"type":"array"}`)
	embed := function(t, "embeddings", `{}`, `"input":{"type":"string"}`)
	speech := function(t, "transcriptions", oneText, `"file":{"type":"string","format":"uri"}`)
	const hi = `"model":"m","messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		f                 *Function
		body, param, code string
		message           string
	}{
		{chat, ``, "", "", "empty"},
		{chat, `{`, "", "", "cannot be read"},
		{chat, `[]`, "", CodeInvalidType, "not an array"},
		{chat, `{"model":"m"}`, "messages", CodeMissingParameter, "Missing required parameter: 'messages'"},
		{chat, `{"model":"m","messages":"hi"}`, "messages", CodeInvalidType, "expected an array, but got a string"},
		{chat, `{"model":"m","messages":[]}`, "messages", CodeInvalidValue, "at least one message"},
		{chat, `{"model":"m","messages":[1]}`, "messages[0]", CodeInvalidType, "expected an object, but got an integer"},
		{chat, `{"model":"m","messages":[{"content":"a"}]}`, "messages[0].role", CodeMissingParameter, "role"},
		{chat, `{` + hi + `,"tools":[{}]}`, "tools", CodeUnsupportedParameter, "not supported with this model"},
		{chat, `{` + hi + `,"response_format":{"type":"json_object"}}`, "response_format", CodeUnsupportedParameter, ""},
		{chat, `{` + hi + `,"logprobs":true}`, "logprobs", CodeUnsupportedParameter, ""},
		{tools, `{` + hi + `,"tools":[{}],"tool_choice":"none"}`, "tool_choice", CodeUnsupportedParameter, ""},
		{chat, `{` + hi + `,"temprature":1}`, "temprature", CodeUnknownParameter, "Unknown parameter: 'temprature'"},
		{chat, `{` + hi + `,"temperature":"hot"}`, "temperature", CodeInvalidType, "expected a number, but got a string"},
		{chat, `{` + hi + `,"stream":1}`, "stream", CodeInvalidType, "expected a boolean"},
		{
			chat, `{` + hi + `,"stream":true,"stream_options":{"usage":true}}`, "stream_options.usage", CodeUnknownParameter, "",
		},
		{chat, `{` + hi + `,"n":0}`, "n", CodeInvalidValue, "between 1 and 128"},
		{chat, `{` + hi + `,"n":1.5}`, "n", CodeInvalidType, "expected an integer"},
		{chat, `{` + hi + `,"stop":1}`, "stop", CodeInvalidType, ""},
		{chat, `{` + hi + `,"stop":["a","b","c","d","e"]}`, "stop", CodeInvalidValue, "more than 4"},
		{chat, `{` + hi + `,"stop":["a",1]}`, "stop[1]", CodeInvalidType, ""},
		{embed, `{"model":"m","input":[]}`, "input", CodeInvalidValue, "empty"},
		{embed, `{"model":"m","input":["a",1]}`, "input[1]", CodeInvalidType, "expected a string"},
		{embed, `{"model":"m","input":[1,2]}`, "input", CodeInvalidType, "takes text, not token ids"},
		{embed, `{"model":"m","input":"a","dimensions":3}`, "dimensions", CodeUnsupportedParameter, ""},
		{
			embed, `{"model":"m","input":"a","encoding_format":"hex"}`, "encoding_format", CodeInvalidValue, "'float', 'base64'",
		},
		{embed, `{"model":"m","input":"a","stream":true}`, "stream", CodeUnknownParameter, ""},
		{speech, `{"model":"m","file":"x"}`, "file", CodeInvalidType, "expected a file"},
	} {
		_, err := readJSON(c.f, c.body)
		if err == nil {
			t.Errorf("%s: accepted", c.body)
			continue
		}
		if err.Status != 400 || err.Type != TypeInvalid || err.Param != c.param || err.Code != c.code ||
			!strings.Contains(err.Message, c.message) {
			t.Errorf("%s: %+v, want Status 400, Type invalid_request_error, Param %q, Code %q and Message with %q", c.body, err,
				c.param, c.code, c.message)
		}
		body := err.AppendJSON(nil)
		assert.True(t, rawjson.Check(body) == nil, "got the error %s, want JSON", body)
	}
}

func TestRead_Model(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m"}`: "m", `{}`: "", `{"model":null}`: "",
		`{"model":3}`: "model",
	} {
		b, _ := ParseJSON([]byte(body))
		name, err := b.Model()
		if err != nil {
			name = err.Param
		}
		assert.Equal(t, body, name, want)
	}
}

func TestRead_Form(t *testing.T) {
	speech := function(t, "transcriptions", items, `"file":{"type":"string","format":"uri"}`,
		`"language":{"type":"string"}`)
	field := func(name, value string) predict.FormField {
		return predict.FormField{Name: name, Form: predict.FieldText, Value: []byte(value)}
	}
	file := predict.FormField{Name: "file", Form: predict.FieldFile, Value: []byte(`"placeholder"`)}
	r, err := speech.Read(ParseForm([]predict.FormField{
		file, field("model", "m"), field("language", "de"), field("stream", "true"), field("temperature", "0.2"),
		field("response_format", "text"), field("timestamp_granularities[]", "segment"),
	}), free)
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	if !r.Stream || r.format != "text" || len(r.Form) != 2 || r.Form[1].Name != "language" || string(r.Inputs[0]) != "{}" {
		t.Errorf("got %+v, want a stream of text with two inputs of the form", r)
	}
	for _, c := range []struct {
		field       predict.FormField
		param, code string
	}{
		{field("timestamp_granularities[]", "word"), "timestamp_granularities", CodeUnsupportedParameter},
		{field("stream", "maybe"), "stream", CodeInvalidType},
		{field("loudness", "3"), "loudness", CodeUnknownParameter},
	} {
		_, err := speech.Read(ParseForm([]predict.FormField{file, field("model", "m"), c.field}), free)
		assert.True(t, err != nil && err.Param == c.param && err.Code == c.code,
			"%s: %+v, want Param %q and Code %q", c.field.Name, err, c.param, c.code)
	}
	_, err = speech.Read(ParseForm([]predict.FormField{field("model", "m")}), free)
	assert.True(t, err != nil && err.Code == CodeMissingParameter, "without a file: %+v, want Code missing_required_parameter", err)
}

// free charges nothing.
func free(int64) *Error { return nil }

func FuzzRead(f *testing.F) {
	functions := []*Function{
		function(f, "chat", items, messages, `"max_tokens":{"type":"integer"}`),
		function(f, "completions", items, `"prompt":{"type":"string"}`),
		function(f, "embeddings", `{}`, `"input":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}`),
		function(f, "images", `{}`, `"prompt":{"type":"string"}`, `"n":{"type":"integer"}`),
	}
	for _, seed := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"stop":["a","\u00e4"],"n":2,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"m","prompt":["a","b"],"max_tokens":3}`, `{"model":"m","input":[[1,2],[3]]}`,
		`{"m\u006fdel":"m","prompt":"a","n":3,"response_format":"url"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, fn := range functions {
			b, err := ParseJSON(body)
			var r *Request
			if err == nil {
				r, err = fn.Read(b, free)
			}
			if err != nil {
				assert.TrueNow(t, err.Message != "" && rawjson.Check(err.AppendJSON(nil)) == nil, "%q: %+v, want Message non-empty", body, err)
				continue
			}
			assert.TrueNow(t, len(r.Inputs) != 0, "%q: no input: got none, want at least one", body)
			for _, in := range r.Inputs {
				assert.TrueNow(t, rawjson.Check(in) == nil && rawjson.KindOf(in) == rawjson.KindObject,
					"%q: the input %q, want %v", body, in, rawjson.KindObject)
			}
		}
	})
}

func TestRead_ShapesValuesForFunction(t *testing.T) {
	const parts = `[{"type":"text","text":"a\"b"},{"type":"text","text":"c"}]`
	picture := `[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:,"}}]`
	say := func(content string) string { return `"messages":[{"role":"user","content":` + content + `}]` }
	const choice = `{"type":"function","function":{"name":"f"}}`
	message := func(content string) string {
		return `"messages":{"type":"array","items":{"type":"object","properties":{"content":` + content + `}}}`
	}
	list := `{"type":"array","items":{"type":"object"}}`
	for name, c := range map[string]struct{ declared, sent, want string }{
		"parts for dicts":     {messages, say(parts), say(`"a\"b\nc"`)},
		"a picture for dicts": {messages, say(picture), say(picture)},
		"a text for dicts":    {messages, say(`"x"`), say(`"x"`)},
		"null for dicts":      {messages, say(`null`), say(`null`)},
		"parts for a str":     {message(oneText), say(parts), say(`"a\"b\nc"`)},
		"a text for parts":    {message(list), say(`"x"`), say(`[{"type":"text","text":"x"}]`)},
		"parts for both":      {message(`{"anyOf":[` + oneText + `,` + list + `]}`), say(parts), say(parts)},
		"stop for a list": {
			messages + `,"stop":{"type":"array","items":{"type":"string"}}`,
			say(`"x"`) + `,"stop":"a"`, say(`"x"`) + `,"stop":["a"]`,
		},
		"stop for a str":    {messages + `,"stop":` + oneText, say(`"x"`) + `,"stop":["a"]`, say(`"x"`) + `,"stop":"a"`},
		"no stop for a str": {messages + `,"stop":` + oneText, say(`"x"`) + `,"stop":[]`, say(`"x"`)},
		"stop for both": {
			messages + `,"stop":{"anyOf":[` + oneText + `,{"type":"array","items":` + oneText + `}]}`,
			say(`"x"`) + `,"stop":["a"]`, say(`"x"`) + `,"stop":["a"]`,
		},
		"a choice for a str": {
			messages + `,"tool_choice":` + oneText, say(`"x"`) + `,"tool_choice":` + choice, say(`"x"`) + `,"tool_choice":"f"`,
		},
		"a choice for a dict": {
			messages + `,"tool_choice":{"type":"object"}`, say(`"x"`) + `,"tool_choice":"auto"`,
			say(`"x"`) + `,"tool_choice":{"type":"auto"}`,
		},
		"a format for a str": {
			messages + `,"response_format":` + oneText,
			say(`"x"`) + `,"response_format":{"type":"json_object"}`, say(`"x"`) + `,"response_format":"json_object"`,
		},
		"a parameter that it has": {
			messages + `,"top_k":{"type":"integer"}`, say(`"x"`) + `,"top_k":5`,
			say(`"x"`) + `,"top_k":5`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := readJSON(function(t, "chat", oneText, c.declared), `{"model":"m",`+c.sent+`}`)
			assert.TrueNow(t, err == nil, "got %+v, want nil", err)
			got := string(r.Inputs[0])
			assert.True(t, got == "{"+c.want+"}", "got %s, want {%s}", got, c.want)
		})
	}
}

func TestRead_IgnoresParametersOfSelfHostedServers(t *testing.T) {
	f := function(t, "chat", oneText, messages)
	const say = `{"model":"m","messages":[{"role":"user","content":"x"}],`
	r, err := readJSON(f, say+`"top_k":5,"no_repeat_ngram_size":2,"chat_template_kwargs":{"enable_thinking":false},"stream":true,"stream_options":{"continuous_usage_stats":true}}`)
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	assert.Equal(t, "warning", r.Warning(), "ignored parameters, which the model's function does not take: top_k, no_repeat_ngram_size, chat_template_kwargs, stream_options.continuous_usage_stats")
	f.Strict = true
	for _, body := range []string{
		say + `"top_k":5}`,
		say + `"stream":true,"stream_options":{"continuous_usage_stats":true}}`,
	} {
		_, err := readJSON(f, body)
		assert.True(t, err != nil && err.Code == CodeUnknownParameter, "%s: got %v, want %s", body, err, CodeUnknownParameter)
	}
}
