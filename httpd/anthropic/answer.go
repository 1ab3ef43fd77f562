package anthropic

import (
	"strconv"

	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
)

// Answer implements openai.Dialog.
func (d *dialog) Answer(dst []byte, h openai.Head, m *openai.Message, u openai.Usage) ([]byte, *openai.Error) {
	dst = appendHead(dst, h)
	dst = append(dst, `,"content":[`...)
	begin := len(dst)
	if m.Reasoning != nil {
		dst = openai.AppendText(append(dst, `,{"type":"thinking","thinking":`...), m.Reasoning)
		dst = append(dst, `,"signature":""}`...)
	}
	for _, text := range [][]byte{m.Text, m.Refusal} {
		if text != nil {
			dst = append(openai.AppendText(append(dst, `,{"type":"text","text":`...), text), '}')
		}
	}
	for _, c := range m.Calls {
		dst = openai.AppendText(append(dst, `,{"type":"tool_use","id":`...), c.ID)
		dst = openai.AppendText(append(dst, `,"name":`...), c.Name)
		input := []byte(rawjson.KeyText(c.Arguments))
		if len(input) == 0 {
			input = []byte("{}")
		}
		if rawjson.Check(input) != nil || rawjson.KindOf(input) != rawjson.KindObject {
			return nil, openai.BadOutput("The model called a tool with arguments that are not a JSON object.")
		}
		dst = append(append(append(dst, `,"input":`...), input...), '}')
	}
	if len(dst) > begin {
		dst = append(dst[:begin], dst[begin+1:]...) // the first comma
	}
	dst = appendStop(append(dst, "],"...), m.Finish, m.Refusal != nil)
	return append(appendUsage(append(dst, ','), u), '}'), nil
}

// appendHead appends the beginning of a message object.
func appendHead(dst []byte, h openai.Head) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"id":`...), "msg_"+h.ID)
	return rawjson.AppendQuoted(append(dst, `,"type":"message","role":"assistant","model":`...), h.Model)
}

// appendStop appends why a message ended.
func appendStop(dst []byte, f openai.Finish, refused bool) []byte {
	reason := "end_turn"
	switch {
	case f.Sequence != "":
		dst = rawjson.AppendQuoted(append(dst, `"stop_reason":"stop_sequence","stop_sequence":`...), f.Sequence)
		return dst
	case refused, f.Reason == "content_filter":
		reason = "refusal"
	case f.Reason == "length":
		reason = "max_tokens"
	case f.Reason == "tool_calls", f.Reason == "function_call":
		reason = "tool_use"
	}
	return append(append(append(dst, `"stop_reason":"`...), reason...), `","stop_sequence":null`...)
}

// appendUsage appends the member usage.
func appendUsage(dst []byte, u openai.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `"usage":{"input_tokens":`...), u.Prompt, 10)
	return append(strconv.AppendInt(append(dst, `,"output_tokens":`...), u.Completion, 10), '}')
}
