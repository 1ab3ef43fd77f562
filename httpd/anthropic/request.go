package anthropic

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/openai"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

const (
	// maxStops and maxStop bound the stop sequences: their number, and the bytes of each.
	maxStops = 64
	maxStop  = 16 << 10
)

// dialog is one request.
type dialog struct {
	openai.Translation
	stops []string
	stream
}

// read translates a request.
func read(_ *fasthttp.RequestHeader, body []byte) (openai.Dialog, *openai.Error) {
	if err := openai.ReadObject(body); err != nil {
		return nil, err
	}
	d := &dialog{Translation: openai.NewTranslation(&words)}
	var system, list, limit []byte
	for key, value := range rawjson.Members(body) {
		if rawjson.KindOf(value) == rawjson.KindNull {
			continue
		}
		switch name := rawjson.Name(key); name {
		case "system":
			system = value
		case "messages":
			list = value
		case "max_tokens":
			limit = value
			d.Add(name, value)
		default:
			if err := d.member(name, value); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case list == nil:
		return nil, openai.Missing("messages")
	case limit == nil:
		return nil, openai.Missing("max_tokens")
	}
	if n, err := strconv.ParseInt(string(limit), 10, 64); err != nil || n < 1 {
		return nil, openai.WrongValue("max_tokens", "must be an integer of at least 1.")
	}
	if err := d.readMessages(system, list); err != nil {
		return nil, err
	}
	return d, nil
}

// member translates a parameter. One that the API does not have is passed on: the function may take it.
func (d *dialog) member(name string, value []byte) *openai.Error {
	switch name {
	case "stop_sequences":
		return d.readStops(value)
	case "tools":
		return d.AddTools(value)
	case "tool_choice":
		return d.readToolChoice(value)
	case "thinking":
		return d.readThinking(value)
	case "metadata":
		if user := openai.Member(value, "user_id"); rawjson.KindOf(user) == rawjson.KindString {
			d.Add("user", user)
		}
	case "output_config":
		return d.readOutput(value)
	case "service_tier", "inference_geo", "cache_control": // they label a request
	case "container", "mcp_servers", "context_management":
		return openai.Unsupported(name, "this server does not run tools")
	case "n", "stop", "max_completion_tokens", "response_format", "functions", "function_call", "logprobs":
		return openai.Unknown(name) // chat completions have them, but this API does not
	default:
		d.Add(name, value)
	}
	return nil
}

func (d *dialog) readStops(list []byte) *openai.Error {
	const name = "stop_sequences"
	if rawjson.KindOf(list) != rawjson.KindArray {
		return openai.WrongType(name, "an array", list)
	}
	d.stops = nil
	for i, item := range rawjson.Items(list) {
		switch {
		case i == maxStops:
			return openai.WrongValue(name, "it has more than "+strconv.Itoa(maxStops)+" items.")
		case rawjson.KindOf(item) != rawjson.KindString:
			return openai.WrongType(openai.Indexed(name, i), "a string", item)
		case len(item) > maxStop:
			return openai.WrongValue(openai.Indexed(name, i), "it has more than "+strconv.Itoa(maxStop)+" bytes.")
		}
		stop := rawjson.Text(item)
		if strings.TrimSpace(stop) == "" {
			return openai.WrongValue(openai.Indexed(name, i), "must have a character that is not a space.")
		}
		d.stops = append(d.stops, stop)
	}
	return nil
}

func (d *dialog) readToolChoice(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindObject {
		return openai.WrongType("tool_choice", "an object", value)
	}
	switch kind := openai.Text(value, "type"); kind {
	case "auto", "none":
		d.Add("tool_choice", rawjson.AppendQuoted(nil, kind))
	case "any":
		d.Add("tool_choice", []byte(`"required"`))
	case "tool":
		if err := d.ChooseTool(value); err != nil {
			return err
		}
	default:
		return openai.WrongValue("tool_choice.type", "'"+logtext.Clip(kind)+"' is not one of 'auto', 'any', 'tool', 'none'.")
	}
	if string(openai.Member(value, "disable_parallel_tool_use")) == "true" {
		d.Add("parallel_tool_calls", []byte("false"))
	}
	return nil
}

// readThinking passes on that the model is to think, by the name that the templates of models have for it.
func (d *dialog) readThinking(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindObject {
		return openai.WrongType("thinking", "an object", value)
	}
	switch kind := openai.Text(value, "type"); kind {
	case "enabled", "adaptive":
		d.Add("enable_thinking", []byte("true"))
	case "disabled":
		d.Add("enable_thinking", []byte("false"))
	default:
		return openai.WrongValue("thinking.type", "'"+logtext.Clip(kind)+"' is not one of 'enabled', 'adaptive', 'disabled'.")
	}
	if budget := openai.Member(value, "budget_tokens"); rawjson.KindOf(budget) == rawjson.KindNumber {
		d.Add("thinking_token_budget", budget)
	}
	return nil
}

// readOutput translates the format of the output, and the effort.
func (d *dialog) readOutput(value []byte) *openai.Error {
	if rawjson.KindOf(value) != rawjson.KindObject {
		return openai.WrongType("output_config", "an object", value)
	}
	if effort := openai.Member(value, "effort"); rawjson.KindOf(effort) == rawjson.KindString {
		d.Add("reasoning_effort", effort)
	}
	format := openai.Member(value, "format")
	if !openai.IsGiven(format) {
		return nil
	}
	schema := openai.Member(format, "schema")
	if openai.Text(format, "type") != "json_schema" || rawjson.KindOf(schema) != rawjson.KindObject {
		return openai.WrongValue("output_config.format", "must have the type 'json_schema' and a schema.")
	}
	d.Add("response_format", append(
		append([]byte(`{"type":"json_schema","json_schema":{"name":"output","schema":`), schema...), "}}"...))
	return nil
}

// Stops implements openai.Dialog.
func (d *dialog) Stops() []string { return d.stops }

// Param implements openai.Dialog.
func (d *dialog) Param(name string) string {
	switch name {
	case "response_format":
		return "output_config.format"
	case "user":
		return "metadata.user_id"
	case "enable_thinking":
		return "thinking"
	case "thinking_token_budget":
		return "thinking.budget_tokens"
	}
	return name
}
