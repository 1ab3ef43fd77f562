package responses

import (
	"strconv"

	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
)

// kind is the kind of an output item. A message has one part: a text or a refusal.
type kind uint8

const (
	none kind = iota
	reasoning
	message
	refusal
	call
)

// item is an item of the output. Texts are the insides of JSON strings.
type item struct {
	kind   kind
	id     string // of a call
	called openai.Called
	text   []byte // or the arguments of a call
}

// callItem returns the item of a call with these arguments so far.
func (d *dialog) callItem(part *openai.CallPart, arguments []byte) item {
	name := rawjson.Text(openai.AppendText(nil, part.Name))
	return item{kind: call, id: string(part.ID), called: d.Called(name), text: arguments}
}

// arguments returns the arguments of a call of a tool that has a type, as its item has them: a JSON object, or its only
// text. nil means that they are of another form, so the item is that of a function.
func (i *item) arguments() []byte {
	tool := i.called.Kind
	if tool == nil {
		return nil
	}
	given := []byte(rawjson.KeyText(i.text))
	if rawjson.Check(given) != nil || rawjson.KindOf(given) != rawjson.KindObject {
		return nil
	}
	switch tool.Type {
	case "custom":
		given = openai.Member(given, tool.Member)
		if rawjson.KindOf(given) != rawjson.KindString {
			return nil
		}
	case "local_shell":
		begin := []byte(`{"type":"exec"`)
		for key, value := range rawjson.Members(given) {
			if !rawjson.KeyIs(key, "type") {
				begin = append(rawjson.AppendQuoted(append(begin, ','), rawjson.KeyText(key)), ':')
				begin = append(begin, value...)
			}
		}
		given = append(begin, '}')
	}
	return given
}

// itemID returns the id of the item at a position.
func itemID(h openai.Head, k kind, at int) string {
	prefix := map[kind]string{reasoning: "rs_", message: "msg_", refusal: "msg_", call: "fc_"}[k]
	return prefix + h.ID + "_" + strconv.Itoa(at)
}

// append appends the item with that id and status.
func (i *item) append(dst []byte, id, status string) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"id":`...), id)
	switch i.kind {
	case call:
		dst = i.appendCall(dst)
	case reasoning:
		dst = append(dst, `,"type":"reasoning","summary":[],"content":[`...)
		if status == "completed" {
			dst = i.appendPart(dst)
		}
		dst = append(dst, ']')
	default:
		dst = append(dst, `,"type":"message","role":"assistant","content":[`...)
		if status == "completed" {
			dst = i.appendPart(dst)
		}
		dst = append(dst, ']')
	}
	return append(rawjson.AppendQuoted(append(dst, `,"status":`...), status), '}')
}

// appendCall appends the members of a call.
func (i *item) appendCall(dst []byte) []byte {
	kind, arguments := "function_call", i.arguments()
	if arguments != nil {
		kind = i.called.Kind.Call
	}
	dst = append(append(append(dst, `,"type":"`...), kind...), `","call_id":"`...)
	dst = append(append(dst, i.id...), '"')
	if arguments == nil || i.called.Kind.Name == "" {
		dst = rawjson.AppendQuoted(append(dst, `,"name":`...), i.called.Name)
		if i.called.Space != "" {
			dst = rawjson.AppendQuoted(append(dst, `,"namespace":`...), i.called.Space)
		}
	}
	if arguments == nil {
		return openai.AppendText(append(dst, `,"arguments":`...), i.text)
	}
	switch kind {
	case "computer_call":
		dst = append(dst, `,"pending_safety_checks":[]`...)
	case "tool_search_call":
		dst = append(dst, `,"execution":"client"`...)
	}
	return append(append(rawjson.AppendQuoted(append(dst, ','), i.called.Kind.Member), ':'), arguments...)
}

// appendPart appends the only part of a message's content.
func (i *item) appendPart(dst []byte) []byte {
	switch i.kind {
	case refusal:
		return append(openai.AppendText(append(dst, `{"type":"refusal","refusal":`...), i.text), '}')
	case reasoning:
		return append(openai.AppendText(append(dst, `{"type":"reasoning_text","text":`...), i.text), '}')
	}
	dst = openai.AppendText(append(dst, `{"type":"output_text","text":`...), i.text)
	return append(dst, `,"annotations":[],"logprobs":[]}`...)
}
