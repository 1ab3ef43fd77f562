package responses

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/openai"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// Dialect returns the API as a dialect of chat completions.
func Dialect() openai.Dialect {
	return openai.Dialect{Path: "/v1/responses", Read: read, Refuse: openai.Refuse}
}

// dialog is one request. Its members are JSON, nil if they are absent or null.
type dialog struct {
	openai.Translation

	input   []byte
	allowed []byte // the tools that tool_choice allows; nil means all

	instructions, maxOutput, metadata, temperature, topP, toolChoice, tools, format, reasoning, parallel, user,
	truncation, tier []byte

	stream
}

// read translates a request.
func read(_ *fasthttp.RequestHeader, body []byte) (openai.Dialog, *openai.Error) {
	d := &dialog{Translation: openai.NewTranslation(&words)}
	if err := openai.ReadFields(&d.Translation, d, fields, body); err != nil {
		return nil, err
	}
	if d.input == nil {
		return nil, openai.Missing("input")
	}
	for key, value := range rawjson.Members(body) {
		if kept := d.kept(rawjson.Name(key)); kept != nil && openai.IsGiven(value) {
			*kept = value
		}
	}
	if err := d.readInput(); err != nil {
		return nil, err
	}
	d.keepAllowed()
	if err := d.EndTools(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *dialog) readInstructions(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindString {
		return openai.WrongType("instructions", "a string", value)
	}
	return nil
}

func (d *dialog) readStreamOptions(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindObject {
		return openai.WrongType("stream_options", "an object", value)
	}
	return nil
}

// kept returns where the value of a parameter that the answer repeats is kept; nil means the answer does not.
func (d *dialog) kept(name string) *[]byte {
	switch name {
	case "instructions":
		return &d.instructions
	case "max_output_tokens":
		return &d.maxOutput
	case "metadata":
		return &d.metadata
	case "temperature":
		return &d.temperature
	case "top_p":
		return &d.topP
	case "tool_choice":
		return &d.toolChoice
	case "tools":
		return &d.tools
	case "text":
		return &d.format
	case "reasoning":
		return &d.reasoning
	case "parallel_tool_calls":
		return &d.parallel
	case "user":
		return &d.user
	case "truncation":
		return &d.truncation
	case "service_tier":
		return &d.tier
	}
	return nil
}

// appendMembers appends those of the members of an object that it has.
func appendMembers(dst, object []byte, names ...string) []byte {
	first := true
	for _, name := range names {
		value := openai.Member(object, name)
		if !openai.IsGiven(value) {
			continue
		}
		dst = rawjson.Comma(dst, !first)
		first = false
		dst = append(append(rawjson.AppendQuoted(dst, name), ':'), value...)
	}
	return dst
}

func (d *dialog) readToolChoice(value []byte) *openai.Error {
	switch rawjson.KindOf(value) {
	case rawjson.KindString:
		d.ChooseMode(rawjson.Text(value))
		return nil
	case rawjson.KindObject:
	default:
		return openai.WrongType("tool_choice", "a string or an object", value)
	}
	switch kind := openai.Text(value, "type"); kind {
	case "function", "custom":
		return d.ChooseTool(value)
	case "allowed_tools":
		d.allowed = openai.Member(value, "tools")
		if rawjson.KindOf(d.allowed) != rawjson.KindArray {
			return openai.WrongType("tool_choice.tools", "an array", d.allowed)
		}
		d.ChooseMode(openai.Text(value, "mode"))
		return nil
	default:
		return d.ChooseKind(kind)
	}
}

// keepAllowed leaves the tools out that tool_choice does not allow.
func (d *dialog) keepAllowed() {
	if d.allowed == nil {
		return
	}
	allowed := map[string]bool{}
	for _, tool := range rawjson.Items(d.allowed) {
		for _, member := range []string{"name", "type"} {
			if text := openai.Text(tool, member); text != "" {
				allowed[text] = true
				break
			}
		}
	}
	d.Keep(func(c openai.Called) bool {
		return allowed[c.Name] || c.Kind != nil && allowed[c.Kind.Type] || allowed[c.Space]
	})
}

// readText translates the format and the verbosity of the text.
func (d *dialog) readText(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindObject {
		return openai.WrongType("text", "an object", value)
	}
	if verbosity := openai.Member(value, "verbosity"); openai.IsGiven(verbosity) {
		d.AddLabel("verbosity", verbosity)
	}
	format := openai.Member(value, "format")
	if !openai.IsGiven(format) {
		return nil
	}
	if rawjson.KindOf(format) != rawjson.KindObject {
		return openai.WrongType("text.format", "an object", format)
	}
	switch kind := openai.Text(format, "type"); kind {
	case "text":
	case "json_object":
		d.Add("response_format", []byte(`{"type":"json_object"}`))
	case "json_schema":
		if rawjson.KindOf(openai.Member(format, "schema")) != rawjson.KindObject {
			return openai.Missing("text.format.schema")
		}
		schema := appendMembers([]byte(`{"type":"json_schema","json_schema":{`), format, "name", "description", "schema",
			"strict")
		d.Add("response_format", append(schema, "}}"...))
	default:
		return openai.WrongValue("text.format.type",
			"'"+logtext.Clip(kind)+"' is not one of 'text', 'json_object', 'json_schema'.")
	}
	return nil
}

func (d *dialog) readReasoning(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindObject {
		return openai.WrongType("reasoning", "an object", value)
	}
	if effort := openai.Member(value, "effort"); openai.IsGiven(effort) {
		d.AddLabel("reasoning_effort", effort)
	}
	return nil
}

// readInclude refuses what would change the answer. Clients ask for the rest by habit.
func (d *dialog) readInclude(list []byte) *openai.Error {
	if rawjson.KindOf(list) != rawjson.KindArray {
		return openai.WrongType("include", "an array", list)
	}
	for i, item := range rawjson.Items(list) {
		if rawjson.KindOf(item) != rawjson.KindString {
			return openai.WrongType(openai.Indexed("include", i), "a string", item)
		}
		if strings.HasSuffix(rawjson.Text(item), ".logprobs") {
			return openai.Unsupported(openai.Indexed("include", i), "the model returns no logprobs")
		}
	}
	return nil
}

// Stops implements openai.Dialog: the API has no stop sequences.
func (d *dialog) Stops() []string { return nil }

// Param implements openai.Dialog.
func (d *dialog) Param(name string) string {
	names := []struct{ chat, here string }{
		{"messages", "input"},
		{"max_completion_tokens", "max_output_tokens"},
		{"response_format", "text.format"},
		{"reasoning_effort", "reasoning.effort"},
		{"verbosity", "text.verbosity"},
	}
	at := slices.IndexFunc(names, func(n struct{ chat, here string }) bool {
		return name == n.chat || strings.HasPrefix(name, n.chat+"[") || strings.HasPrefix(name, n.chat+".")
	})
	if at < 0 {
		return name
	}
	return names[at].here + name[len(names[at].chat):]
}
