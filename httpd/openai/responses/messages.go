package responses

import (
	"pinion/httpd/openai"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// words are the API's names for what chat completions have too.
var words = openai.Words{
	Tool: "function", Schema: "parameters",
	CallID: "call_id", Arguments: "arguments", ArgumentsAre: rawjson.KindString,
	ResultOf: "call_id", Result: "output", NeedsResult: true, AppendPart: appendPart,
}

// assistant is a message of the assistant. It is open as long as tool calls may follow it.
type assistant struct {
	content, calls []byte // as those of AddMessage
	open           bool
}

// readInput translates the instructions and the input. The input is a text, or a list of items.
func (d *dialog) readInput(input []byte) *openai.Error {
	if d.instructions != nil {
		d.AddMessage("system", d.instructions, nil)
	}
	switch rawjson.KindOf(input) {
	case rawjson.KindString:
		d.AddMessage("user", input, nil)
	case rawjson.KindArray:
		var a assistant
		for i, item := range rawjson.Items(input) {
			if err := d.readItem(&a, openai.Indexed("input", i), item); err != nil {
				return err
			}
		}
		d.addAssistant(&a)
	default:
		return openai.WrongType("input", "a string or an array", input)
	}
	return nil
}

// addAssistant adds the open message of the assistant.
func (d *dialog) addAssistant(a *assistant) {
	if a.open {
		d.AddMessage("assistant", a.content, a.calls)
		*a = assistant{}
	}
}

// readItem translates an item.
func (d *dialog) readItem(a *assistant, param string, item []byte) (err *openai.Error) {
	if rawjson.KindOf(item) != rawjson.KindObject {
		return openai.WrongType(param, "an object", item)
	}
	kind := openai.Text(item, "type")
	if kind == "" && openai.Member(item, "role") != nil {
		kind = "message"
	}
	switch kind {
	case "message":
		return d.readMessage(a, param, item)
	case "function_call":
		a.open = true
		a.calls, err = d.AppendCall(a.calls, param, item)
		return err
	case "function_call_output":
		d.addAssistant(a)
		return d.AddResult(param, item)
	case "reasoning": // the model has no use for what it thought before
		return nil
	case "":
		return openai.Missing(param + ".type")
	}
	return openai.Unsupported(param+".type", "items of type '"+logtext.Clip(kind)+"' are not supported")
}

func (d *dialog) readMessage(a *assistant, param string, item []byte) *openai.Error {
	role := openai.Text(item, "role")
	switch role {
	case "user", "assistant", "system", "developer":
	case "":
		return openai.Missing(param + ".role")
	default:
		return openai.WrongValue(param+".role",
			"'"+logtext.Clip(role)+"' is not one of 'user', 'assistant', 'system', 'developer'.")
	}
	value := openai.Member(item, "content")
	if !openai.IsGiven(value) {
		return openai.Missing(param + ".content")
	}
	content, err := d.AppendContent(nil, param+".content", value)
	if err != nil {
		return err
	}
	d.addAssistant(a)
	if role == "assistant" {
		a.content, a.open = content, true
	} else {
		d.AddMessage(role, content, nil)
	}
	return nil
}

// appendPart appends a part of a content in the form of chat completions.
func appendPart(dst []byte, param, kind string, part []byte) ([]byte, *openai.Error) {
	switch kind {
	case "input_text", "output_text", "text":
		return openai.AppendTextPart(dst, param, part, "text")
	case "refusal":
		return openai.AppendTextPart(dst, param, part, "refusal")
	case "input_image":
		if !openai.IsGiven(openai.Member(part, "image_url")) {
			return dst, openai.Unsupported(param, "this server keeps no files: send image_url, also as a data URL")
		}
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		dst = append(dst, openai.Member(part, "image_url")...)
		if detail := openai.Member(part, "detail"); openai.IsGiven(detail) {
			dst = append(append(dst, `,"detail":`...), detail...)
		}
		return append(dst, "}}"...), nil
	case "input_file":
		dst = appendMembers(append(dst, `{"type":"file","file":{`...), part, "filename", "file_data", "file_url", "file_id")
		return append(dst, "}}"...), nil
	case "input_audio":
		return dst, openai.Unsupported(param, "send audio to /v1/chat/completions")
	case "":
		return dst, openai.Missing(param + ".type")
	}
	return dst, openai.WrongValue(param+".type",
		"'"+logtext.Clip(kind)+"' is not one of 'input_text', 'input_image', 'input_file', 'output_text', 'refusal'.")
}
