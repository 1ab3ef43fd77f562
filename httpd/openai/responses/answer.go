package responses

import (
	"strconv"
	"time"

	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
)

// Answer implements openai.Dialog.
func (d *dialog) Answer(dst []byte, h openai.Head, m *openai.Message, u openai.Usage) ([]byte, *openai.Error) {
	items := []item{}
	if m.Reasoning != nil {
		items = append(items, item{kind: reasoning, text: m.Reasoning})
	}
	if m.Text != nil || m.Refusal == nil && len(m.Calls) == 0 {
		items = append(items, item{kind: message, text: m.Text})
	}
	if m.Refusal != nil {
		items = append(items, item{kind: refusal, text: m.Refusal})
	}
	for _, c := range m.Calls {
		items = append(items, d.callItem(&c, c.Arguments))
	}
	output := []byte{'['}
	for i := range items {
		output = rawjson.Comma(output, i > 0)
		output = items[i].append(output, itemID(h, items[i].kind, i), "completed")
	}
	status, incomplete := endOf(m.Finish)
	return d.append(dst, h, status, incomplete, append(output, ']'), nil, &u), nil
}

// endOf returns the status of a response, and why it is incomplete.
func endOf(f openai.Finish) (status, incomplete string) {
	switch f.Reason {
	case "length":
		return "incomplete", "max_output_tokens"
	case "content_filter":
		return "incomplete", "content_filter"
	}
	return "completed", ""
}

// append appends the response object. output is JSON; failure is why it failed, or nil; u is nil before the end.
func (d *dialog) append(dst []byte, h openai.Head, status, incomplete string, output []byte, failure *openai.Error,
	u *openai.Usage,
) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"id":`...), "resp_"+h.ID)
	dst = strconv.AppendInt(append(dst, `,"object":"response","created_at":`...), h.Created, 10)
	dst = append(append(append(dst, `,"status":"`...), status...), `","background":false,"completed_at":`...)
	if status == "completed" {
		dst = strconv.AppendInt(dst, time.Now().Unix(), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"error":`...)
	if failure != nil {
		dst = rawjson.AppendQuoted(append(dst, `{"code":"server_error","message":`...), failure.Message)
		dst = append(dst, '}')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"incomplete_details":`...)
	if incomplete != "" {
		dst = append(rawjson.AppendQuoted(append(dst, `{"reason":`...), incomplete), '}')
	} else {
		dst = append(dst, "null"...)
	}
	for _, m := range []struct {
		name  string
		value []byte
		empty string
	}{
		{"instructions", d.instructions, "null"},
		{"max_output_tokens", d.maxOutput, "null"},
		{"metadata", d.metadata, "{}"},
		{"parallel_tool_calls", d.parallel, "true"},
		{"previous_response_id", nil, "null"},
		{"reasoning", d.reasoning, `{"effort":null,"summary":null}`},
		{"service_tier", d.tier, `"default"`},
		{"store", nil, "false"},
		{"temperature", d.temperature, "1.0"},
		{"text", d.format, `{"format":{"type":"text"}}`},
		{"tool_choice", d.toolChoice, `"auto"`},
		{"tools", d.tools, "[]"},
		{"top_p", d.topP, "1.0"},
		{"truncation", d.truncation, `"disabled"`},
		{"user", d.user, "null"},
	} {
		dst = append(append(append(dst, `,"`...), m.name...), `":`...)
		if m.value != nil {
			dst = append(dst, m.value...)
		} else {
			dst = append(dst, m.empty...)
		}
	}
	dst = rawjson.AppendQuoted(append(dst, `,"model":`...), h.Model)
	dst = append(append(dst, `,"output":`...), output...)
	dst = append(dst, `,"usage":`...)
	if u == nil {
		return append(dst, "null}"...)
	}
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), u.Prompt, 10)
	dst = strconv.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":0},"output_tokens":`...), u.Completion,
		10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":`...),
		u.Prompt+u.Completion, 10)
	return append(dst, "}}"...)
}
