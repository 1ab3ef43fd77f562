package responses

import (
	"strconv"

	"pinion/httpd/openai"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// messages writes the items of an input as messages of chat completions.
type messages struct {
	dst   []byte
	begun bool
	// An assistant's message is open as long as tool calls may follow it.
	content []byte // JSON, or nil
	calls   []byte // JSON, without the brackets
	open    bool
}

// read writes the instructions and the input. The input is a text, or a list of items.
func (m *messages) read(instructions, input []byte) *openai.Error {
	if instructions != nil {
		m.add("system", instructions)
	}
	switch rawjson.KindOf(input) {
	case rawjson.KindString:
		m.add("user", input)
	case rawjson.KindArray:
		for i, item := range rawjson.Items(input) {
			if err := m.item(indexed("input", i), item); err != nil {
				return err
			}
		}
		m.closeAssistant()
	default:
		return openai.WrongType("input", "a string or an array", input)
	}
	return nil
}

// next begins a message.
func (m *messages) next() {
	if m.begun {
		m.dst = append(m.dst, ',')
	}
	m.begun = true
}

// add writes a message.
func (m *messages) add(role string, content []byte) {
	m.closeAssistant()
	m.next()
	m.dst = rawjson.AppendQuoted(append(m.dst, `{"role":`...), role)
	m.dst = append(append(append(m.dst, `,"content":`...), content...), '}')
}

// closeAssistant writes the open message of the assistant.
func (m *messages) closeAssistant() {
	if !m.open {
		return
	}
	m.next()
	m.dst = append(m.dst, `{"role":"assistant","content":`...)
	if m.content != nil {
		m.dst = append(m.dst, m.content...)
	} else {
		m.dst = append(m.dst, "null"...)
	}
	if m.calls != nil {
		m.dst = append(append(append(m.dst, `,"tool_calls":[`...), m.calls...), ']')
	}
	m.dst = append(m.dst, '}')
	m.content, m.calls, m.open = nil, nil, false
}

// item writes an item.
func (m *messages) item(param string, item []byte) *openai.Error {
	if rawjson.KindOf(item) != rawjson.KindObject {
		return openai.WrongType(param, "an object", item)
	}
	kind := openai.Text(item, "type")
	if kind == "" && openai.Member(item, "role") != nil {
		kind = "message"
	}
	switch kind {
	case "message":
		return m.message(param, item)
	case "function_call":
		return m.call(param, item)
	case "function_call_output":
		return m.callOutput(param, item)
	case "reasoning": // the model has no use for what it thought before
		return nil
	case "":
		return openai.Missing(param + ".type")
	}
	return openai.Unsupported(param+".type", "items of type '"+predict.Clip(kind)+"' are not supported")
}

func (m *messages) message(param string, item []byte) *openai.Error {
	role := openai.Text(item, "role")
	switch role {
	case "user", "assistant", "system", "developer":
	case "":
		return openai.Missing(param + ".role")
	default:
		return openai.WrongValue(param+".role",
			"'"+predict.Clip(role)+"' is not one of 'user', 'assistant', 'system', 'developer'.")
	}
	value := openai.Member(item, "content")
	if !isGiven(value) {
		return openai.Missing(param + ".content")
	}
	content, err := appendContent(nil, param+".content", value)
	switch {
	case err != nil:
		return err
	case role == "assistant":
		m.closeAssistant()
		m.content, m.open = content, true
	default:
		m.add(role, content)
	}
	return nil
}

// call adds a call of a tool to the open message of the assistant.
func (m *messages) call(param string, item []byte) *openai.Error {
	id, name, arguments := openai.Member(item, "call_id"), openai.Member(item, "name"), openai.Member(item, "arguments")
	for _, f := range []struct {
		name  string
		value []byte
	}{{"call_id", id}, {"name", name}, {"arguments", arguments}} {
		if !isGiven(f.value) {
			return openai.Missing(param + "." + f.name)
		}
		if rawjson.KindOf(f.value) != rawjson.KindString {
			return openai.WrongType(param+"."+f.name, "a string", f.value)
		}
	}
	if m.calls != nil {
		m.calls = append(m.calls, ',')
	}
	m.calls = append(append(append(m.calls, `{"id":`...), id...), `,"type":"function","function":{"name":`...)
	m.calls = append(append(append(append(m.calls, name...), `,"arguments":`...), arguments...), "}}"...)
	m.open = true
	return nil
}

// callOutput writes the result of a tool.
func (m *messages) callOutput(param string, item []byte) *openai.Error {
	id, output := openai.Member(item, "call_id"), openai.Member(item, "output")
	switch {
	case rawjson.KindOf(id) != rawjson.KindString:
		return openai.Missing(param + ".call_id")
	case !isGiven(output):
		return openai.Missing(param + ".output")
	}
	m.closeAssistant()
	m.next()
	m.dst = append(append(append(m.dst, `{"role":"tool","tool_call_id":`...), id...), `,"content":`...)
	var err *openai.Error
	m.dst, err = appendContent(m.dst, param+".output", output)
	m.dst = append(m.dst, '}')
	return err
}

// appendContent appends a content: a text, or a list of parts.
func appendContent(dst []byte, param string, value []byte) ([]byte, *openai.Error) {
	switch rawjson.KindOf(value) {
	case rawjson.KindString:
		return append(dst, value...), nil
	case rawjson.KindArray:
	default:
		return dst, openai.WrongType(param, "a string or an array", value)
	}
	dst = append(dst, '[')
	for i, part := range rawjson.Items(value) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *openai.Error
		if dst, err = appendPart(dst, indexed(param, i), part); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendPart appends a part of a content in the form of chat completions.
func appendPart(dst []byte, param string, part []byte) ([]byte, *openai.Error) {
	if rawjson.KindOf(part) != rawjson.KindObject {
		return dst, openai.WrongType(param, "an object", part)
	}
	kind := openai.Text(part, "type")
	switch kind {
	case "input_text", "output_text", "text":
		return appendField(dst, param, part, `{"type":"text","text":`, "text")
	case "refusal":
		return appendField(dst, param, part, `{"type":"text","text":`, "refusal")
	case "input_image":
		if !isGiven(openai.Member(part, "image_url")) {
			return dst, openai.Unsupported(param, "this server keeps no files: send image_url, also as a data URL")
		}
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		dst = append(dst, openai.Member(part, "image_url")...)
		if detail := openai.Member(part, "detail"); isGiven(detail) {
			dst = append(append(dst, `,"detail":`...), detail...)
		}
		return append(dst, "}}"...), nil
	case "input_file":
		dst = appendMembers(append(dst, `{"type":"file","file":{`...), part, "filename", "file_data", "file_url", "file_id")
		return append(dst, "}}"...), nil
	case "input_audio":
		return appendMembers(dst, part), openai.Unsupported(param, "send audio to /v1/chat/completions")
	case "":
		return dst, openai.Missing(param + ".type")
	}
	return dst, openai.WrongValue(param+".type",
		"'"+predict.Clip(kind)+"' is not one of 'input_text', 'input_image', 'input_file', 'output_text', 'refusal'.")
}

// appendField appends a part with a text.
func appendField(dst []byte, param string, part []byte, head, name string) ([]byte, *openai.Error) {
	value := openai.Member(part, name)
	if !isGiven(value) {
		return dst, openai.Missing(param + "." + name)
	}
	if rawjson.KindOf(value) != rawjson.KindString {
		return dst, openai.WrongType(param+"."+name, "a string", value)
	}
	return append(append(append(dst, head...), value...), '}'), nil
}

func indexed(param string, i int) string { return param + "[" + strconv.Itoa(i) + "]" }
