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
	system, list []byte // of the request
	limited      bool   // it has max_tokens
	stops        []string
	stream
}

// read translates a request.
func read(_ *fasthttp.RequestHeader, body []byte) (openai.Dialog, *openai.Error) {
	return translate(body, true)
}

// readCount translates a request for the count of its tokens, which has no limit.
func readCount(_ *fasthttp.RequestHeader, body []byte) (openai.Dialog, *openai.Error) {
	return translate(body, false)
}

func translate(body []byte, limited bool) (openai.Dialog, *openai.Error) {
	d := &dialog{Translation: openai.NewTranslation(&words)}
	if err := openai.ReadFields(&d.Translation, d, fields, body); err != nil {
		return nil, err
	}
	switch {
	case d.list == nil:
		return nil, openai.Missing("messages")
	case limited && !d.limited:
		return nil, openai.Missing("max_tokens")
	}
	if err := d.readMessages(); err != nil {
		return nil, err
	}
	if err := d.EndTools(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *dialog) readLimit(value []byte) *openai.Error {
	if n, err := strconv.ParseInt(string(value), 10, 64); err != nil || n < 1 {
		return openai.WrongValue("max_tokens", "must be an integer of at least 1.")
	}
	d.limited = true
	d.Add("max_tokens", value)
	return nil
}

func (d *dialog) readMetadata(value []byte) *openai.Error {
	if user := openai.Member(value, "user_id"); rawjson.KindOf(user) == rawjson.KindString {
		d.Add("user", user)
	}
	return nil
}

// leaveOutServers leaves out the tools of MCP servers, which Anthropic's servers would ask.
func (d *dialog) leaveOutServers(value []byte) *openai.Error {
	if strings.TrimSpace(string(value)) != "[]" {
		d.LeaveOut("mcp_servers, which only a vendor's servers ask")
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
		d.ChooseMode(kind)
	case "any":
		d.ChooseMode("required")
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
		d.AddLabel("enable_thinking", []byte("true"))
	case "disabled":
		d.AddLabel("enable_thinking", []byte("false"))
	default:
		return openai.WrongValue("thinking.type", "'"+logtext.Clip(kind)+"' is not one of 'enabled', 'adaptive', 'disabled'.")
	}
	if budget := openai.Member(value, "budget_tokens"); rawjson.KindOf(budget) == rawjson.KindNumber {
		d.AddLabel("thinking_token_budget", budget)
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
