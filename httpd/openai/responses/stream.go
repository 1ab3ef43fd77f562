package responses

import (
	"strconv"

	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
)

// stream is the state of a stream: its items follow one another.
type stream struct {
	head   openai.Head
	events int
	items  int    // that have begun, unless they are held
	output []byte // the items that have ended, JSON with commas between them
	item   item   // the open one; its kind is none if no item is open
	calls  int    // that have begun
}

// Kept implements protocol.Keeper.
func (d *dialog) Kept() int { return cap(d.output) + cap(d.item.text) }

// Begin implements openai.Dialog.
func (d *dialog) Begin(dst []byte, h openai.Head) []byte {
	d.head = h
	for _, name := range []string{"response.created", "response.in_progress"} {
		dst = append(d.open(dst, name), `,"response":`...)
		dst = shut(d.append(dst, h, "in_progress", "", []byte("[]"), nil, nil))
	}
	return dst
}

// open appends the beginning of an event, up to its number.
func (d *dialog) open(dst []byte, name string) []byte {
	dst = append(append(append(dst, "event: "...), name...), "\ndata: {\"type\":\""...)
	dst = strconv.AppendInt(append(append(dst, name...), `","sequence_number":`...), int64(d.events), 10)
	d.events++
	return dst
}

// shut appends the end of an event.
func shut(dst []byte) []byte { return append(dst, "}\n\n"...) }

// about appends the beginning of an event about the open item.
func (d *dialog) about(dst []byte, name string) []byte {
	dst = rawjson.AppendQuoted(append(d.open(dst, name), `,"item_id":`...), d.itemID())
	dst = strconv.AppendInt(append(dst, `,"output_index":`...), int64(d.items-1), 10)
	if d.item.kind != call {
		dst = append(dst, `,"content_index":0`...)
	}
	return dst
}

func (d *dialog) itemID() string { return itemID(d.head, d.item.kind, d.items-1) }

// Delta implements openai.Dialog.
func (d *dialog) Delta(dst []byte, part *openai.Delta) []byte {
	if part.Reasoning != nil {
		dst = d.text(dst, reasoning, part.Reasoning)
	}
	if part.Text != nil {
		dst = d.text(dst, message, part.Text)
	}
	if part.Refusal != nil {
		dst = d.text(dst, refusal, part.Refusal)
	}
	for i := range part.Calls {
		dst = d.callPart(dst, &part.Calls[i])
	}
	return dst
}

// nameOf begins the events of a kind of item with text.
func (k kind) nameOf() string {
	return [...]string{
		reasoning: "response.reasoning_text", message: "response.output_text", refusal: "response.refusal",
	}[k]
}

// text appends the events of a text's part.
func (d *dialog) text(dst []byte, k kind, text []byte) []byte {
	if d.item.kind != k {
		dst = d.beginItem(d.endItem(dst), item{kind: k})
	}
	d.item.text = append(d.item.text, text...)
	dst = openai.AppendText(append(d.about(dst, k.nameOf()+".delta"), `,"delta":`...), text)
	if k == message {
		dst = append(dst, `,"logprobs":[]`...)
	}
	return shut(dst)
}

// callPart appends the events of a part of a tool call. The parts of a call follow one another. One of a tool that has a
// type is held until it is whole, since its item has no text that could grow.
func (d *dialog) callPart(dst []byte, part *openai.CallPart) []byte {
	if part.Index >= d.calls {
		d.calls = part.Index + 1
		next := d.callItem(part, nil)
		if dst = d.endItem(dst); next.called.Kind != nil {
			d.item = next
		} else {
			dst = d.beginItem(dst, next)
		}
	}
	if d.item.kind != call || len(part.Arguments) == 0 {
		return dst
	}
	d.item.text = append(d.item.text, part.Arguments...)
	if d.item.called.Kind != nil {
		return dst
	}
	return d.delta(dst, "response.function_call_arguments", part.Arguments)
}

// delta appends the event of a part of a call's arguments, the inside of a JSON string.
func (d *dialog) delta(dst []byte, name string, part []byte) []byte {
	return shut(openai.AppendText(append(d.about(dst, name+".delta"), `,"delta":`...), part))
}

// wholeCall appends the events of a call that was held, before those that end it.
func (d *dialog) wholeCall(dst []byte) []byte {
	arguments := d.item.arguments()
	whole := d.item
	if arguments != nil && whole.called.Kind.Type == "custom" { // whose text comes by the delta
		d.item.text = []byte(`{\"input\":\"\"}`)
	}
	dst = d.beginItem(dst, d.item)
	d.item = whole
	switch {
	case arguments == nil:
		dst = d.delta(dst, "response.function_call_arguments", d.item.text)
		return d.argumentsDone(dst)
	case d.item.called.Kind.Type == "custom":
		const name = "response.custom_tool_call_input"
		dst = d.delta(dst, name, arguments[1:len(arguments)-1])
		return shut(append(append(d.about(dst, name+".done"), `,"input":`...), arguments...))
	}
	return dst
}

func (d *dialog) argumentsDone(dst []byte) []byte {
	dst = d.about(dst, "response.function_call_arguments.done")
	dst = rawjson.AppendQuoted(append(dst, `,"name":`...), d.item.called.Name)
	return shut(openai.AppendText(append(dst, `,"arguments":`...), d.item.text))
}

// beginItem appends the events of a new item.
func (d *dialog) beginItem(dst []byte, i item) []byte {
	d.item = i
	d.items++
	dst = d.itemEvent(dst, "response.output_item.added", "in_progress")
	if i.kind != call {
		dst = shut(d.item.appendPart(append(d.about(dst, "response.content_part.added"), `,"part":`...)))
	}
	return dst
}

func (d *dialog) itemEvent(dst []byte, name, status string) []byte {
	dst = strconv.AppendInt(append(d.open(dst, name), `,"output_index":`...), int64(d.items-1), 10)
	return shut(d.item.append(append(dst, `,"item":`...), d.itemID(), status))
}

// endItem appends the events that end the open item.
func (d *dialog) endItem(dst []byte) []byte {
	k := d.item.kind
	if k == none {
		return dst
	}
	switch {
	case k == call && d.item.called.Kind != nil:
		dst = d.wholeCall(dst)
	case k == call:
		dst = d.argumentsDone(dst)
	default:
		dst = d.textDone(dst)
	}
	dst = d.itemEvent(dst, "response.output_item.done", "completed")
	d.output = rawjson.Comma(d.output, d.items > 1)
	d.output = d.item.append(d.output, d.itemID(), "completed")
	d.item = item{}
	return dst
}

// textDone appends the events that end the text of the open item.
func (d *dialog) textDone(dst []byte) []byte {
	k, member := d.item.kind, `,"text":`
	if k == refusal {
		member = `,"refusal":`
	}
	dst = openai.AppendText(append(d.about(dst, k.nameOf()+".done"), member...), d.item.text)
	if k == message {
		dst = append(dst, `,"logprobs":[]`...)
	}
	return shut(d.item.appendPart(append(d.about(shut(dst), "response.content_part.done"), `,"part":`...)))
}

// End implements openai.Dialog.
func (d *dialog) End(dst []byte, f openai.Finish, u openai.Usage) []byte {
	if d.items == 0 && d.item.kind == none { // no item is an empty text
		dst = d.beginItem(dst, item{kind: message})
	}
	dst = d.endItem(dst)
	status, incomplete := endOf(f)
	return d.final(dst, status, incomplete, nil, &u)
}

// final appends the last event.
func (d *dialog) final(dst []byte, status, incomplete string, failure *openai.Error, u *openai.Usage) []byte {
	output := append(append([]byte{'['}, d.output...), ']')
	dst = append(d.open(dst, "response."+status), `,"response":`...)
	return shut(d.append(dst, d.head, status, incomplete, output, failure, u))
}

// Fail implements openai.Dialog.
func (d *dialog) Fail(dst []byte, err *openai.Error) []byte {
	dst = rawjson.AppendQuoted(append(d.open(dst, "error"), `,"code":"server_error","message":`...), err.Message)
	dst = shut(append(dst, `,"param":null`...))
	return d.final(dst, "failed", "", err, nil)
}

// Ping implements openai.Dialog.
func (d *dialog) Ping(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }
