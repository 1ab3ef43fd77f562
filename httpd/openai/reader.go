package openai

import (
	"slices"

	"pinion/runtime/rawjson"
)

// Delta is what an item of a chat function adds to its message. Texts are the insides of JSON strings. It is valid
// during the call that gets it.
type Delta struct {
	Reasoning []byte // nil means none
	Text      []byte // nil means none
	Refusal   []byte // nil means none
	Calls     []CallPart
}

// CallPart is a tool call, or a part of one. Texts are the insides of JSON strings.
type CallPart struct {
	Index     int // of the call in its message
	ID, Name  []byte
	Arguments []byte
}

// Finish is how a message ended.
type Finish struct {
	Reason string // finish_reason of chat completions
	// Sequence is the stop sequence at which the text ended; "" means it ended at none.
	Sequence string
}

// Message is a whole message of a chat function. Texts are the insides of JSON strings.
type Message struct {
	Delta
	Finish Finish
}

// add adds a part to the message.
func (m *Message) add(d *Delta) {
	join := func(to *[]byte, part []byte) {
		if part != nil {
			*to = append(*to, part...)
			if *to == nil {
				*to = []byte{}
			}
		}
	}
	join(&m.Reasoning, d.Reasoning)
	join(&m.Text, d.Text)
	join(&m.Refusal, d.Refusal)
	for _, part := range d.Calls {
		if part.Index == len(m.Calls) {
			m.Calls = append(m.Calls, CallPart{Index: part.Index})
		}
		c := &m.Calls[part.Index]
		if part.ID != nil {
			c.ID = part.ID
		}
		if part.Name != nil {
			c.Name = part.Name
		}
		c.Arguments = append(c.Arguments, part.Arguments...)
	}
}

// Reader reads what a chat function returns or yields as the parts of one message. Only one goroutine uses it.
type Reader struct {
	stop   stopper
	calls  message // which tool calls have begun
	finish Finish
}

// NewReader returns a reader of a request's message.
func (r *Request) NewReader() *Reader { return &Reader{stop: r.newStopper()} }

// Item reads an item, and passes the parts on that can be sent. stopped means that the text has ended at a stop
// sequence.
func (r *Reader) Item(item []byte, emit func(*Delta)) (stopped bool, err *Error) {
	if r.stop.match.stopSet == nil {
		return false, r.part(item, emit)
	}
	out, stopped := r.stop.add(item)
	if stopped {
		r.finish = Finish{"stop", r.stop.found}
	}
	return stopped, r.parts(out, emit)
}

// End passes on what Item has held back. It is called after the last item.
func (r *Reader) End(emit func(*Delta)) *Error {
	if r.finish.Sequence != "" {
		return nil
	}
	return r.parts(r.stop.flush(), emit)
}

// Output reads a whole output: a value, or the list of the items of an iterator.
func (r *Reader) Output(output []byte, emit func(*Delta)) *Error {
	if rawjson.KindOf(output) != array {
		stopped, err := r.Item(output, emit)
		if err != nil || stopped {
			return err
		}
		return r.End(emit)
	}
	for _, item := range rawjson.Items(output) {
		if stopped, err := r.Item(item, emit); err != nil || stopped {
			return err
		}
	}
	return r.End(emit)
}

// Finish returns how the message ended.
func (r *Reader) Finish() Finish {
	f := r.finish
	if f.Reason == "" {
		f.Reason = r.calls.reason()
	}
	return f
}

func (r *Reader) parts(list []next, emit func(*Delta)) *Error {
	for _, n := range list {
		item := n.item
		if n.cut {
			item = rawjson.AppendQuoted(nil, n.text)
		}
		if err := r.part(item, emit); err != nil {
			return err
		}
	}
	return nil
}

// part reads an item.
func (r *Reader) part(item []byte, emit func(*Delta)) *Error {
	var m message
	if err := m.add(item); err != nil {
		return err
	}
	if m.finish != "" && r.finish.Sequence == "" {
		r.finish.Reason = m.finish
	}
	var d Delta
	if m.has {
		d.Text = slices.Grow(m.content, 1)
	}
	if rawjson.KindOf(m.refusal.value) == text {
		d.Refusal = inside(m.refusal.value)
	}
	for _, name := range [...]string{"reasoning_content", "reasoning"} {
		if given := find(m.rest, name); given != nil && rawjson.KindOf(given.value) == text {
			d.Reasoning = inside(given.value)
		}
	}
	if rawjson.KindOf(item) == object {
		if err := r.callParts(&d, Member(item, "tool_calls")); err != nil {
			return err
		}
	}
	if d.Text != nil || d.Refusal != nil || d.Reasoning != nil || len(d.Calls) > 0 {
		emit(&d)
	}
	return nil
}

// callParts reads the tool calls of an item.
func (r *Reader) callParts(d *Delta, list []byte) *Error {
	for _, item := range rawjson.Items(list) {
		known := len(r.calls.calls)
		at := r.calls.callOf(item)
		var part toolCall
		if err := part.add(item); err != nil {
			return err
		}
		p := CallPart{Index: at, Arguments: part.arguments}
		if rawjson.KindOf(part.id) == text {
			p.ID = inside(part.id)
		} else if at == known {
			p.ID = []byte(newCallID())
		}
		if rawjson.KindOf(part.name) == text {
			p.Name = inside(part.name)
		}
		d.Calls = append(d.Calls, p)
	}
	return nil
}
