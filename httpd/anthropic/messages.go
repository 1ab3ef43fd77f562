package anthropic

import (
	"pinion/httpd/openai"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// messages writes messages as those of chat completions.
type messages struct {
	dst   []byte
	begun bool
}

// read writes the system prompt and the messages.
func (m *messages) read(system, list []byte) *openai.Error {
	if system != nil {
		content, err := textContent(nil, "system", system)
		if err != nil {
			return err
		}
		m.add("system", content)
	}
	if rawjson.KindOf(list) != rawjson.KindArray {
		return openai.WrongType("messages", "an array", list)
	}
	empty := true
	for i, message := range rawjson.Items(list) {
		empty = false
		if err := m.message(indexed("messages", i), message); err != nil {
			return err
		}
	}
	if empty {
		return openai.WrongValue("messages", "it is empty; it must have at least one message.")
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
	m.next()
	m.dst = append(append(append(m.dst, `{"role":"`...), role...), `","content":`...)
	m.dst = append(append(m.dst, content...), '}')
}

// message writes a message. The results of tools are messages of chat completions, which come before the rest.
func (m *messages) message(param string, message []byte) *openai.Error {
	if rawjson.KindOf(message) != rawjson.KindObject {
		return openai.WrongType(param, "an object", message)
	}
	role := openai.Text(message, "role")
	if role != "user" && role != "assistant" && role != "system" {
		return openai.WrongValue(param+".role", "'"+predict.Clip(role)+"' is not one of 'user', 'assistant'.")
	}
	value := openai.Member(message, "content")
	switch rawjson.KindOf(value) {
	case rawjson.KindString:
		m.add(role, value)
		return nil
	case rawjson.KindArray:
	default:
		if value == nil {
			return openai.Missing(param + ".content")
		}
		return openai.WrongType(param+".content", "a string or an array", value)
	}
	var parts, calls []byte
	for i, block := range rawjson.Items(value) {
		var err *openai.Error
		at := indexed(param+".content", i)
		if rawjson.KindOf(block) != rawjson.KindObject {
			return openai.WrongType(at, "an object", block)
		}
		switch kind := openai.Text(block, "type"); {
		case kind == "tool_use" && role == "assistant":
			calls, err = appendCall(comma(calls), at, block)
		case kind == "tool_result" && role == "user":
			err = m.result(at, block)
		case kind == "thinking" && role == "assistant", kind == "redacted_thinking" && role == "assistant":
			// the model has no use for what it thought before
		default:
			parts, err = appendPart(comma(parts), at, kind, block)
		}
		if err != nil {
			return err
		}
	}
	if parts == nil && calls == nil {
		return nil // results of tools alone
	}
	m.next()
	m.dst = append(append(append(m.dst, `{"role":"`...), role...), `","content":`...)
	if parts != nil {
		m.dst = append(append(append(m.dst, '['), parts...), ']')
	} else {
		m.dst = append(m.dst, "null"...)
	}
	if calls != nil {
		m.dst = append(append(append(m.dst, `,"tool_calls":[`...), calls...), ']')
	}
	m.dst = append(m.dst, '}')
	return nil
}

// comma appends a comma, unless the list is empty.
func comma(list []byte) []byte {
	if list == nil {
		return nil
	}
	return append(list, ',')
}

// appendCall appends a call of a tool.
func appendCall(dst []byte, param string, block []byte) ([]byte, *openai.Error) {
	id, name, input := openai.Member(block, "id"), openai.Member(block, "name"), openai.Member(block, "input")
	switch {
	case rawjson.KindOf(id) != rawjson.KindString:
		return dst, openai.Missing(param + ".id")
	case rawjson.KindOf(name) != rawjson.KindString:
		return dst, openai.Missing(param + ".name")
	case rawjson.KindOf(input) != rawjson.KindObject:
		return dst, openai.Missing(param + ".input")
	}
	dst = append(append(append(dst, `{"id":`...), id...), `,"type":"function","function":{"name":`...)
	dst = append(append(dst, name...), `,"arguments":`...)
	return append(rawjson.AppendQuotedBytes(dst, input), "}}"...), nil
}

// result writes the result of a tool.
func (m *messages) result(param string, block []byte) *openai.Error {
	id, content := openai.Member(block, "tool_use_id"), openai.Member(block, "content")
	if rawjson.KindOf(id) != rawjson.KindString {
		return openai.Missing(param + ".tool_use_id")
	}
	m.next()
	m.dst = append(append(append(m.dst, `{"role":"tool","tool_call_id":`...), id...), `,"content":`...)
	var err *openai.Error
	if content == nil || rawjson.KindOf(content) == rawjson.KindNull {
		content = []byte(`""`)
	}
	m.dst, err = textContent(m.dst, param+".content", content)
	m.dst = append(m.dst, '}')
	return err
}

// textContent appends a content: a text, or a list of blocks.
func textContent(dst []byte, param string, value []byte) ([]byte, *openai.Error) {
	switch rawjson.KindOf(value) {
	case rawjson.KindString:
		return append(dst, value...), nil
	case rawjson.KindArray:
	default:
		return dst, openai.WrongType(param, "a string or an array", value)
	}
	dst = append(dst, '[')
	for i, block := range rawjson.Items(value) {
		at := indexed(param, i)
		if rawjson.KindOf(block) != rawjson.KindObject {
			return dst, openai.WrongType(at, "an object", block)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *openai.Error
		if dst, err = appendPart(dst, at, openai.Text(block, "type"), block); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendPart appends a block as a part of chat completions.
func appendPart(dst []byte, param, kind string, block []byte) ([]byte, *openai.Error) {
	switch kind {
	case "text":
		return appendText(dst, param+".text", openai.Member(block, "text"))
	case "image":
		return appendImage(dst, param+".source", openai.Member(block, "source"))
	case "document":
		return appendDocument(dst, param+".source", openai.Member(block, "source"))
	case "":
		return dst, openai.Missing(param + ".type")
	}
	return dst, openai.Unsupported(param+".type", "blocks of type '"+predict.Clip(kind)+"' are not supported here")
}

func appendText(dst []byte, param string, value []byte) ([]byte, *openai.Error) {
	if value == nil {
		return dst, openai.Missing(param)
	}
	if rawjson.KindOf(value) != rawjson.KindString {
		return dst, openai.WrongType(param, "a string", value)
	}
	return append(append(append(dst, `{"type":"text","text":`...), value...), '}'), nil
}

// appendImage appends a picture as a URL, or a data URL.
func appendImage(dst []byte, param string, source []byte) ([]byte, *openai.Error) {
	dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
	switch kind := openai.Text(source, "type"); kind {
	case "base64":
		var err *openai.Error
		if dst, err = appendData(dst, param, source); err != nil {
			return dst, err
		}
	case "url":
		address := openai.Member(source, "url")
		if rawjson.KindOf(address) != rawjson.KindString {
			return dst, openai.Missing(param + ".url")
		}
		dst = append(dst, address...)
	default:
		return dst, openai.Unsupported(param+".type", "it must be 'base64' or 'url', not '"+predict.Clip(kind)+"'")
	}
	return append(dst, "}}"...), nil
}

// appendData appends a data URL.
func appendData(dst []byte, param string, source []byte) ([]byte, *openai.Error) {
	media, data := openai.Member(source, "media_type"), openai.Member(source, "data")
	switch {
	case rawjson.KindOf(media) != rawjson.KindString:
		return dst, openai.Missing(param + ".media_type")
	case rawjson.KindOf(data) != rawjson.KindString:
		return dst, openai.Missing(param + ".data")
	}
	dst = append(append(append(dst, `"data:`...), media[1:len(media)-1]...), ";base64,"...)
	return append(dst, data[1:]...), nil
}

// appendDocument appends a document: a text, or a file.
func appendDocument(dst []byte, param string, source []byte) ([]byte, *openai.Error) {
	switch kind := openai.Text(source, "type"); kind {
	case "text":
		return appendText(dst, param+".data", openai.Member(source, "data"))
	case "base64":
		dst, err := appendData(append(dst, `{"type":"file","file":{"file_data":`...), param, source)
		return append(dst, "}}"...), err
	case "content":
		content := openai.Member(source, "content")
		if rawjson.KindOf(content) == rawjson.KindString {
			return appendText(dst, param+".content", content)
		}
		fallthrough
	default:
		return dst, openai.Unsupported(param+".type", "documents of type '"+predict.Clip(kind)+"' are not supported")
	}
}
