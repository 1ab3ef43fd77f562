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
	kind kind
	id   string // of a call
	name []byte
	text []byte // or the arguments of a call
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
		dst = append(append(dst, `,"type":"function_call","call_id":"`...), i.id...)
		dst = openai.AppendText(append(dst, `","name":`...), i.name)
		dst = openai.AppendText(append(dst, `,"arguments":`...), i.text)
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
