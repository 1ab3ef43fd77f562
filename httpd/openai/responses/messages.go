package responses

import (
	"slices"

	"pinion/httpd/openai"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// assistant is a message of the assistant. It is open as long as tool calls may follow it.
type assistant struct {
	content, calls []byte // as those of AddMessage
	thought        []byte // before it
	next           []byte // what the model thought after it
	open           bool
}

// readInput translates the instructions and the input. The input is a text, or a list of items.
func (d *dialog) readInput() *openai.Error {
	if d.instructions != nil {
		d.AddMessage("system", d.instructions, nil, nil)
	}
	switch rawjson.KindOf(d.input) {
	case rawjson.KindString:
		d.AddMessage("user", d.input, nil, nil)
	case rawjson.KindArray:
		var a assistant
		for i, item := range rawjson.Items(d.input) {
			if err := d.readItem(&a, openai.Indexed("input", i), item); err != nil {
				return err
			}
		}
		d.addAssistant(&a)
	default:
		return openai.WrongType("input", "a string or an array", d.input)
	}
	return nil
}

// addAssistant adds the open message of the assistant. What was thought since is of the next one.
func (d *dialog) addAssistant(a *assistant) {
	if a.open {
		d.AddMessage("assistant", a.content, a.calls, a.thought)
		*a = assistant{thought: a.next}
	}
}

// endTurn adds the open message of the assistant, and what it thought at last, since another speaks.
func (d *dialog) endTurn(a *assistant) {
	a.open = a.open || a.thought != nil
	d.addAssistant(a)
	if a.thought != nil {
		d.AddMessage("assistant", nil, nil, a.thought)
	}
	*a = assistant{}
}

// readItem translates an item.
func (d *dialog) readItem(a *assistant, param string, item []byte) *openai.Error {
	if rawjson.KindOf(item) != rawjson.KindObject {
		return openai.WrongType(param, "an object", item)
	}
	kind := openai.Text(item, "type")
	if kind == "" {
		if openai.Member(item, "role") == nil {
			return openai.Missing(param + ".type")
		}
		kind = "message"
	}
	if at := slices.IndexFunc(items, func(k itemKind) bool { return k.kind == kind }); at >= 0 {
		switch k := &items[at]; {
		case k.lacks != "":
			return openai.Unsupported(param+".type", "'"+kind+"': "+k.lacks)
		case k.read != nil:
			return k.read(d, a, param, item)
		}
		d.LeaveOut("items of type " + kind)
		return nil
	}
	for i := range tools {
		switch tool := &tools[i]; kind {
		case tool.Call:
			return d.readCallOf(a, param, item, tool)
		case tool.Result:
			return d.readResultOf(a, param, item)
		}
	}
	said := openai.TextOf(item)
	if said == "" {
		return openai.Unsupported(param+".type", "items of type '"+logtext.Clip(kind)+"' have no text, and are not known")
	}
	d.endTurn(a)
	d.AddMessage("user", rawjson.AppendQuoted(nil, said), nil, nil)
	return nil
}

// readThought reads what the model thought before the next message or call.
func (d *dialog) readThought(a *assistant, _ string, item []byte) *openai.Error {
	thought := &a.thought
	if a.open {
		thought = &a.next
	}
	for _, member := range []string{"content", "summary"} {
		before := len(*thought)
		for _, part := range rawjson.Items(openai.Member(item, member)) {
			*thought = openai.AppendThought(*thought, openai.Member(part, "text"))
		}
		if len(*thought) > before { // the summary is for those who may not read the rest
			break
		}
	}
	return nil
}

// call opens the message for a call.
func (a *assistant) call() {
	if a.next != nil {
		a.thought = openai.AppendThought(a.thought, slices.Concat([]byte{'"'}, a.next, []byte{'"'}))
		a.next = nil
	}
	a.open = true
}

func (d *dialog) readCall(a *assistant, param string, item []byte) (err *openai.Error) {
	a.call()
	a.calls, err = d.AppendCall(a.calls, param, item)
	return err
}

// readCallOf translates a call of a tool that has a type.
func (d *dialog) readCallOf(a *assistant, param string, item []byte, tool *openai.Tool) *openai.Error {
	id, err := idOf(param, item)
	if err != nil {
		return err
	}
	name := rawjson.AppendQuoted(nil, tool.Name)
	if tool.Name == "" {
		if name, err = openai.Required(param, item, "name", rawjson.KindString); err != nil {
			return err
		}
		name = d.NameIn(openai.Text(item, "namespace"), name)
	}
	arguments := openai.Member(item, tool.Member)
	if !openai.IsGiven(arguments) {
		return openai.Missing(param + "." + tool.Member)
	}
	if rawjson.KindOf(arguments) == rawjson.KindString {
		arguments = append(append([]byte(`{"`+tool.Member+`":`), arguments...), '}')
	}
	quoted := rawjson.AppendQuotedBytes(nil, arguments)
	a.call()
	a.calls = openai.AppendCallOf(a.calls, id, name, quoted[1:len(quoted)-1])
	return nil
}

// idOf returns the id by which a call and its result belong together.
func idOf(param string, item []byte) ([]byte, *openai.Error) {
	if id := openai.Member(item, "call_id"); rawjson.KindOf(id) == rawjson.KindString {
		return id, nil
	}
	if id := openai.Member(item, "id"); rawjson.KindOf(id) == rawjson.KindString {
		return id, nil
	}
	return nil, openai.Missing(param + ".call_id")
}

func (d *dialog) readResult(a *assistant, param string, item []byte) *openai.Error {
	d.endTurn(a)
	return d.AddResult(param, item)
}

// readResultOf translates the result of a tool that has a type. What is neither text nor parts of a content comes as JSON.
func (d *dialog) readResultOf(a *assistant, param string, item []byte) *openai.Error {
	id, err := idOf(param, item)
	if err != nil {
		return err
	}
	if list := openai.Member(item, "tools"); list != nil { // those that a search has found
		if err := d.AddTools(param+".tools", list); err != nil {
			return err
		}
	}
	d.endTurn(a)
	output := openai.Member(item, "output")
	if rawjson.KindOf(output) == rawjson.KindObject {
		output = append(append([]byte{'['}, output...), ']')
	}
	switch {
	case rawjson.KindOf(output) == rawjson.KindArray && hasTypes(output):
	case rawjson.KindOf(output) == rawjson.KindString:
	default:
		output = rawjson.AppendQuotedBytes(nil, item)
	}
	return d.AddResultOf(id, param+".output", output)
}

// hasTypes reports whether the items of a list are parts of a content.
func hasTypes(list []byte) bool {
	for _, item := range rawjson.Items(list) {
		if rawjson.KindOf(item) != rawjson.KindObject || openai.Text(item, "type") == "" {
			return false
		}
	}
	return true
}

// readTools adds the tools that an item brings.
func (d *dialog) readTools(_ *assistant, param string, item []byte) *openai.Error {
	return d.AddTools(param+".tools", openai.Member(item, "tools"))
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
	if role == "assistant" {
		d.addAssistant(a)
		a.content, a.open = content, true
	} else {
		d.endTurn(a)
		d.AddMessage(role, content, nil, nil)
	}
	return nil
}

func appendText(_ *openai.Translation, dst []byte, param string, part []byte) ([]byte, *openai.Error) {
	return openai.AppendTextPart(dst, param, part, "text")
}

func appendImage(_ *openai.Translation, dst []byte, param string, part []byte) ([]byte, *openai.Error) {
	if !openai.IsGiven(openai.Member(part, "image_url")) {
		return dst, openai.Unsupported(param, "this server keeps no files: send image_url, also as a data URL")
	}
	dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
	dst = append(dst, openai.Member(part, "image_url")...)
	if detail := openai.Member(part, "detail"); openai.IsGiven(detail) {
		dst = append(append(dst, `,"detail":`...), detail...)
	}
	return append(dst, "}}"...), nil
}
