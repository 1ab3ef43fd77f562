package openai

import "pinion/runtime/rawjson"

// twoForms returns parameters whose value is a name or an object.
func twoForms(name string) bool {
	switch name {
	case "tool_choice", "function_call", "response_format", "chunking_strategy":
		return true
	}
	return false
}

// shape returns a value in the form that the function takes, if it takes one of the forms that the API has.
func (f *Function) shape(name string, value []byte) []byte {
	taken, kind := f.inputs[name], rawjson.KindOf(value)
	if name != "stop" && !twoForms(name) {
		return value
	}
	switch {
	case name == "stop" && kind == text && taken&(formText|formTexts) == formTexts:
		return append(append([]byte{'['}, value...), ']')
	case name == "stop" && kind == array && taken&(formText|formTexts) == formText:
		return onlyItem(value)
	case twoForms(name) && kind == text && taken&(formText|formOther) == formOther:
		return append(append([]byte(`{"type":`), value...), '}')
	case twoForms(name) && kind == object && taken&(formText|formOther) == formText:
		return nameOf(value)
	}
	return value
}

// onlyItem returns the item of a list with one; a longer list stays, and an empty one is as good as absent.
func onlyItem(list []byte) (only []byte) {
	for i, item := range rawjson.Items(list) {
		if i > 0 {
			return list
		}
		only = item
	}
	return only
}

// nameOf returns the name that stands for an object: that of the function that it chooses, else its type.
func nameOf(value []byte) []byte {
	for _, of := range [][]byte{Member(value, "function"), value} {
		if rawjson.KindOf(of) == object {
			if name := Member(of, "name"); rawjson.KindOf(name) == text {
				return name
			}
		}
	}
	if kind := Member(value, "type"); rawjson.KindOf(kind) == text {
		return kind
	}
	return value
}

// shapeMessages returns messages whose contents have the form that the function takes: a string, or parts. What is not
// text stays.
func (f *Function) shapeMessages(r *Request, messages []byte) []byte {
	var out []byte
	begun := 0
	for i, message := range rawjson.Items(messages) {
		content := Member(message, "content")
		shaped := f.shapeContent(content)
		if shaped == nil {
			if f.joins(content) && r.strange == "" {
				r.strange = Indexed("messages", i) + ".content"
			}
			continue
		}
		at := cap(messages) - cap(content) // a part of them
		out = append(append(out, messages[begun:at]...), shaped...)
		begun = at + len(content)
	}
	if begun == 0 {
		return messages
	}
	return append(out, messages[begun:]...)
}

// shapeContent returns the other form of a content, or nil if it stays.
func (f *Function) shapeContent(content []byte) []byte {
	switch kind := rawjson.KindOf(content); {
	case content == nil:
		return nil
	case f.joins(content):
		return joinedParts(content)
	case kind == text && f.content&formText == 0 && f.content&(formTexts|formList) != 0:
		return append(append([]byte(`[{"type":"text","text":`), content...), "}]"...)
	}
	return nil
}

// joins reports whether the parts of a content become one text, since the function declares no lists.
func (f *Function) joins(content []byte) bool {
	return rawjson.KindOf(content) == array && f.content&formText != 0 && f.content&(formTexts|formList) == 0
}

// joinedParts returns the text of parts as one string, in lines; nil means not all are text.
func joinedParts(parts []byte) []byte {
	out := []byte{'"'}
	for i, part := range rawjson.Items(parts) {
		if rawjson.KindOf(part) != object {
			return nil
		}
		kind, written := Member(part, "type"), Member(part, "text")
		if kind == nil || string(kind) != `"text"` || rawjson.KindOf(written) != text {
			return nil
		}
		if i > 0 {
			out = append(out, `\n`...)
		}
		out = append(out, inside(written)...)
	}
	return append(out, '"')
}
