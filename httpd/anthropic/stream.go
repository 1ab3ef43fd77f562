package anthropic

import (
	"strconv"

	"pinion/httpd/openai"
)

// stream is the state of a stream: its blocks follow one another.
type stream struct {
	blocks  int    // that have begun
	open    string // the type of the open block; "" means no block is open
	calls   int    // that have begun
	refused bool
}

// Begin implements openai.Dialog. The input's tokens are counted at the end.
func (d *dialog) Begin(dst []byte, h openai.Head) []byte {
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = append(appendHead(dst, h), `,"content":[],"stop_reason":null,"stop_sequence":null,`...)
	dst = append(appendUsage(dst, openai.Usage{}), "}}\n\n"...)
	return d.Ping(dst)
}

// Ping implements openai.Dialog.
func (d *dialog) Ping(dst []byte) []byte {
	return append(dst, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
}

// Delta implements openai.Dialog.
func (d *dialog) Delta(dst []byte, part *openai.Delta) []byte {
	if part.Reasoning != nil {
		dst = d.text(dst, "thinking", part.Reasoning)
	}
	for _, text := range [][]byte{part.Text, part.Refusal} {
		if text != nil {
			dst = d.text(dst, "text", text)
		}
	}
	d.refused = d.refused || part.Refusal != nil
	for i := range part.Calls {
		dst = d.call(dst, &part.Calls[i])
	}
	return dst
}

// begin appends an event about the newest block, up to its index.
func (d *dialog) begin(dst []byte, name string) []byte {
	dst = append(append(append(dst, "event: "...), name...), "\ndata: {\"type\":\""...)
	return strconv.AppendInt(append(append(dst, name...), `","index":`...), int64(d.blocks-1), 10)
}

// text appends a part of a block of text.
func (d *dialog) text(dst []byte, kind string, text []byte) []byte {
	if d.open != kind {
		dst = d.close(dst)
		d.open = kind
		d.blocks++
		dst = append(d.begin(dst, "content_block_start"), `,"content_block":{"type":"`...)
		dst = append(append(append(append(dst, kind...), `","`...), kind...), `":""`...)
		if kind == "thinking" {
			dst = append(dst, `,"signature":""`...)
		}
		dst = append(dst, "}}\n\n"...)
	}
	dst = append(d.begin(dst, "content_block_delta"), `,"delta":{"type":"`...)
	dst = append(append(append(append(dst, kind...), `_delta","`...), kind...), `":`...)
	return append(openai.AppendText(dst, text), "}}\n\n"...)
}

// call appends a part of a tool call. The parts of a call follow one another.
func (d *dialog) call(dst []byte, part *openai.CallPart) []byte {
	if part.Index >= d.calls {
		d.calls = part.Index + 1
		dst = d.close(dst)
		d.open = "tool_use"
		d.blocks++
		dst = append(d.begin(dst, "content_block_start"), `,"content_block":{"type":"tool_use","id":`...)
		dst = openai.AppendText(append(openai.AppendText(dst, part.ID), `,"name":`...), part.Name)
		dst = append(dst, ",\"input\":{}}}\n\n"...)
	}
	if d.open != "tool_use" || len(part.Arguments) == 0 {
		return dst
	}
	dst = append(d.begin(dst, "content_block_delta"), `,"delta":{"type":"input_json_delta","partial_json":`...)
	return append(openai.AppendText(dst, part.Arguments), "}}\n\n"...)
}

// close appends the end of the open block.
func (d *dialog) close(dst []byte) []byte {
	if d.open == "" {
		return dst
	}
	d.open = ""
	return append(d.begin(dst, "content_block_stop"), "}\n\n"...)
}

// End implements openai.Dialog.
func (d *dialog) End(dst []byte, f openai.Finish, u openai.Usage) []byte {
	dst = append(d.close(dst), "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = append(appendUsage(append(appendStop(dst, f, d.refused), "},"...), u), "}\n\n"...)
	return append(dst, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// Fail implements openai.Dialog.
func (d *dialog) Fail(dst []byte, err *openai.Error) []byte {
	return append(appendError(append(dst, "event: error\ndata: "...), err), "\n\n"...)
}
