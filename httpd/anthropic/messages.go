package anthropic

import (
	"pinion/httpd/openai"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// readMessages translates the system prompt and the messages.
func (d *dialog) readMessages() *openai.Error {
	if d.system != nil {
		content, err := d.AppendContent(nil, "system", d.system)
		if err != nil {
			return err
		}
		d.AddMessage("system", content, nil, nil)
	}
	if rawjson.KindOf(d.list) != rawjson.KindArray {
		return openai.WrongType("messages", "an array", d.list)
	}
	empty := true
	for i, message := range rawjson.Items(d.list) {
		empty = false
		if err := d.readMessage(openai.Indexed("messages", i), message); err != nil {
			return err
		}
	}
	if empty {
		return openai.WrongValue("messages", "must have at least one message.")
	}
	return nil
}

// readMessage translates a message. The results of tools are messages of chat completions, which come before the rest.
func (d *dialog) readMessage(param string, message []byte) *openai.Error {
	if rawjson.KindOf(message) != rawjson.KindObject {
		return openai.WrongType(param, "an object", message)
	}
	role := openai.Text(message, "role")
	if role != "user" && role != "assistant" && role != "system" {
		return openai.WrongValue(param+".role", "'"+logtext.Clip(role)+"' is not one of 'user', 'assistant'.")
	}
	value := openai.Member(message, "content")
	switch {
	case !openai.IsGiven(value):
		return openai.Missing(param + ".content")
	case rawjson.KindOf(value) == rawjson.KindString:
		d.AddMessage(role, value, nil, nil)
		return nil
	case rawjson.KindOf(value) != rawjson.KindArray:
		return openai.WrongType(param+".content", "a string or an array", value)
	}
	parts, calls, thought := []byte{'['}, []byte(nil), []byte(nil)
	for i, block := range rawjson.Items(value) {
		var err *openai.Error
		at := openai.Indexed(param+".content", i)
		switch kind := openai.Text(block, "type"); {
		case kind == "tool_use" && role == "assistant":
			calls, err = d.AppendCall(calls, at, block)
		case kind == "tool_result" && role == "user":
			err = d.AddResult(at, block)
		case kind == "thinking" && role == "assistant":
			thought = openai.AppendThought(thought, openai.Member(block, "thinking"))
		case kind == "redacted_thinking" && role == "assistant": // only Anthropic can read it
		default:
			parts, err = d.AppendPart(parts, at, block)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case len(parts) > 1:
		d.AddMessage(role, append(parts, ']'), calls, thought)
	case calls != nil, thought != nil: // else there are results of tools alone
		d.AddMessage(role, nil, calls, thought)
	}
	return nil
}

// appendImage appends a picture as a URL, or a data URL.
func appendImage(_ *openai.Translation, dst []byte, param string, block []byte) ([]byte, *openai.Error) {
	param += ".source"
	source := openai.Member(block, "source")
	dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
	switch kind := openai.Text(source, "type"); kind {
	case "base64":
		var err *openai.Error
		if dst, err = appendData(dst, param, source); err != nil {
			return dst, err
		}
	case "url":
		address, err := openai.Required(param, source, "url", rawjson.KindString)
		if err != nil {
			return dst, err
		}
		dst = append(dst, address...)
	default:
		return dst, openai.Unsupported(param+".type", "must be 'base64' or 'url', not '"+logtext.Clip(kind)+"'")
	}
	return append(dst, "}}"...), nil
}

// appendData appends a data URL.
func appendData(dst []byte, param string, source []byte) ([]byte, *openai.Error) {
	media, err := openai.Required(param, source, "media_type", rawjson.KindString)
	if err != nil {
		return dst, err
	}
	data, err := openai.Required(param, source, "data", rawjson.KindString)
	if err != nil {
		return dst, err
	}
	dst = append(append(append(dst, `"data:`...), media[1:len(media)-1]...), ";base64,"...)
	return append(dst, data[1:]...), nil
}

// appendDocument appends a document: a text, or a file.
func appendDocument(t *openai.Translation, dst []byte, param string, block []byte) ([]byte, *openai.Error) {
	param += ".source"
	source := openai.Member(block, "source")
	switch kind := openai.Text(source, "type"); kind {
	case "text":
		return openai.AppendTextPart(dst, param, source, "data")
	case "base64":
		dst, err := appendData(append(dst, `{"type":"file","file":{"file_data":`...), param, source)
		return append(dst, "}}"...), err
	case "url":
		address, err := openai.Required(param, source, "url", rawjson.KindString)
		return append(append(append(dst, `{"type":"file","file":{"file_url":`...), address...), "}}"...), err
	case "content":
		content := openai.Member(source, "content")
		if rawjson.KindOf(content) == rawjson.KindString {
			return openai.AppendTextPart(dst, param, source, "content")
		}
		return t.AppendParts(dst, param+".content", content)
	default:
		return dst, openai.Unsupported(param+".type", "documents of type '"+logtext.Clip(kind)+"' are not supported")
	}
}

// addTool adds a tool that a message defines. One that is named only is among the others.
func addTool(t *openai.Translation, dst []byte, param string, block []byte) ([]byte, *openai.Error) {
	if definition := openai.Member(openai.Member(block, "tool"), "definition"); definition != nil {
		return dst, t.AddTools(param+".tool.definition", append(append([]byte{'['}, definition...), ']'))
	}
	return dst, nil
}

func refuseUpload(_ *openai.Translation, dst []byte, param string, _ []byte) ([]byte, *openai.Error) {
	return dst, openai.Unsupported(param, "this server keeps no files for tools: send the file as a document or an image")
}
