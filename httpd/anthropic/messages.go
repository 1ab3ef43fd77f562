package anthropic

import (
	"pinion/httpd/openai"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// words are the API's names for what chat completions have too.
var words = openai.Words{
	Tool: "custom", Untyped: true, Schema: "input_schema", NeedsSchema: true,
	CallID: "id", Arguments: "input", ArgumentsAre: rawjson.KindObject,
	ResultOf: "tool_use_id", Result: "content", AppendPart: appendPart,
}

// readMessages translates the system prompt and the messages.
func (d *dialog) readMessages(system, list []byte) *openai.Error {
	if system != nil {
		content, err := d.AppendContent(nil, "system", system)
		if err != nil {
			return err
		}
		d.AddMessage("system", content, nil)
	}
	if rawjson.KindOf(list) != rawjson.KindArray {
		return openai.WrongType("messages", "an array", list)
	}
	empty := true
	for i, message := range rawjson.Items(list) {
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
		d.AddMessage(role, value, nil)
		return nil
	case rawjson.KindOf(value) != rawjson.KindArray:
		return openai.WrongType(param+".content", "a string or an array", value)
	}
	var parts, calls []byte
	for i, block := range rawjson.Items(value) {
		var err *openai.Error
		at := openai.Indexed(param+".content", i)
		if rawjson.KindOf(block) != rawjson.KindObject {
			return openai.WrongType(at, "an object", block)
		}
		switch kind := openai.Text(block, "type"); {
		case kind == "tool_use" && role == "assistant":
			calls, err = d.AppendCall(calls, at, block)
		case kind == "tool_result" && role == "user":
			err = d.AddResult(at, block)
		case kind == "thinking" && role == "assistant", kind == "redacted_thinking" && role == "assistant":
			// the model has no use for what it thought before
		default:
			parts, err = appendPart(openai.AppendComma(parts), at, kind, block)
		}
		if err != nil {
			return err
		}
	}
	if parts != nil {
		parts = append(parts, ']')
	}
	if parts != nil || calls != nil { // else there are results of tools alone
		d.AddMessage(role, parts, calls)
	}
	return nil
}

// appendPart appends a block as a part of chat completions.
func appendPart(dst []byte, param, kind string, block []byte) ([]byte, *openai.Error) {
	switch kind {
	case "text":
		return openai.AppendTextPart(dst, param, block, "text")
	case "image":
		return appendImage(dst, param+".source", openai.Member(block, "source"))
	case "document":
		return appendDocument(dst, param+".source", openai.Member(block, "source"))
	case "":
		return dst, openai.Missing(param + ".type")
	}
	return dst, openai.Unsupported(param+".type", "blocks of type '"+logtext.Clip(kind)+"' are not supported here")
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
func appendDocument(dst []byte, param string, source []byte) ([]byte, *openai.Error) {
	switch kind := openai.Text(source, "type"); kind {
	case "text":
		return openai.AppendTextPart(dst, param, source, "data")
	case "base64":
		dst, err := appendData(append(dst, `{"type":"file","file":{"file_data":`...), param, source)
		return append(dst, "}}"...), err
	case "content":
		if rawjson.KindOf(openai.Member(source, "content")) == rawjson.KindString {
			return openai.AppendTextPart(dst, param, source, "content")
		}
		fallthrough
	default:
		return dst, openai.Unsupported(param+".type", "documents of type '"+logtext.Clip(kind)+"' are not supported")
	}
}
