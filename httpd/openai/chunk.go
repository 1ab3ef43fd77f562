package openai

import (
	"strconv"

	"pinion/runtime/rawjson"
)

// Chunks writes the events of a stream. A choice is a prediction of the request, or what the items say. Only one
// goroutine uses it.
type Chunks struct {
	r       *Request
	prefix  []byte // of each chunk, up to the choice's index, or its text
	suffix  string // after the choice
	choices []choice
	whole   []byte // of a transcription: the text so far
}

// choice is the state of one choice.
type choice struct {
	began, ended bool
	stop         stopper
	finish       string
	calls        message // which tool calls have begun
}

// NewChunks returns the writer of a request's stream.
func (r *Request) NewChunks(h Head) *Chunks {
	c := &Chunks{r: r, suffix: "}]}\n\n"}
	if r.IncludeUsage {
		c.suffix = "}],\"usage\":null}\n\n"
	}
	kind := "chat.completion.chunk"
	if r.Endpoint == Completions {
		kind = "text_completion"
	}
	c.prefix = append(appendHead([]byte("data: "), r.Endpoint, kind, h), `"choices":[{"index":`...)
	c.choices = make([]choice, len(r.Inputs)*r.inOne())
	for i := range c.choices {
		c.choices[i].stop = r.newStopper()
	}
	return c
}

// Begin appends the first chunk of each choice of a prediction.
func (c *Chunks) Begin(dst []byte, prediction int) []byte {
	for i := range c.r.inOne() {
		dst = c.begin(dst, prediction*c.r.inOne()+i)
	}
	return dst
}

func (c *Chunks) begin(dst []byte, at int) []byte {
	if c.choices[at].began {
		return dst
	}
	c.choices[at].began = true
	if c.r.Endpoint == Chat {
		dst = c.open(dst, at)
		dst = append(dst, `,"delta":{"role":"assistant","content":""},"finish_reason":null`...)
		dst = append(dst, c.suffix...)
	}
	return dst
}

// open appends a chunk up to its choice's index.
func (c *Chunks) open(dst []byte, at int) []byte {
	return strconv.AppendInt(append(dst, c.prefix...), int64(at), 10)
}

// Item appends the chunks of an item that a prediction yielded. stopped means that its text has ended at a stop
// sequence, so the prediction can be canceled.
func (c *Chunks) Item(dst []byte, prediction int, item []byte) (out []byte, stopped bool, err *Error) {
	if c.r.Endpoint == Transcriptions {
		dst, err = c.transcriptDelta(dst, item)
		return dst, false, err
	}
	each := c.r.inOne()
	at := prediction * each
	if each > 1 {
		index := indexOf(item)
		if index < 0 || index >= each {
			return dst, false, BadOutput(
				"The model yielded an item without the index of its choice, from 0 to " + strconv.Itoa(each-1) + ".")
		}
		at += index
	}
	ch := &c.choices[at]
	if ch.ended {
		return dst, c.ended(prediction), nil
	}
	dst = c.begin(dst, at)
	if len(c.r.Stop) == 0 {
		dst, err = c.append(dst, at, item)
		return dst, false, err
	}
	out2, stopped := ch.stop.add(item)
	if dst, err = c.appendAll(dst, at, out2); err != nil || !stopped {
		return dst, false, err
	}
	ch.finish = "stop"
	dst = c.finish(dst, at)
	return dst, c.ended(prediction), nil
}

// ended reports whether all choices of a prediction have ended.
func (c *Chunks) ended(prediction int) bool {
	each := c.r.inOne()
	for i := range each {
		if !c.choices[prediction*each+i].ended {
			return false
		}
	}
	return true
}

func (c *Chunks) appendAll(dst []byte, at int, list []next) ([]byte, *Error) {
	for _, n := range list {
		item := n.item
		if n.cut {
			item = rawjson.AppendQuoted(nil, n.text)
		}
		var err *Error
		if dst, err = c.append(dst, at, item); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (c *Chunks) append(dst []byte, at int, item []byte) ([]byte, *Error) {
	switch rawjson.KindOf(item) {
	case text:
		dst = c.open(dst, at)
		if c.r.Endpoint == Completions {
			dst = append(append(dst, `,"text":`...), item...)
			dst = append(dst, `,"logprobs":null,"finish_reason":null`...)
		} else {
			dst = append(append(dst, `,"delta":{"content":`...), item...)
			dst = append(dst, `},"finish_reason":null`...)
		}
		return append(dst, c.suffix...), nil
	case object:
		return c.appendDelta(dst, at, item)
	case rawjson.KindNull:
		return dst, nil
	}
	return dst, BadOutput("The model yielded " + typeOf(item) + "; a function of this endpoint yields str or dict.")
}

// appendDelta appends the chunk of a dict. One that has nothing but a finish_reason has no chunk.
func (c *Chunks) appendDelta(dst []byte, at int, item []byte) ([]byte, *Error) {
	ch := &c.choices[at]
	var m message
	calls := Member(item, "tool_calls")
	if err := m.addObject(item); err != nil {
		return dst, err
	}
	if m.finish != "" {
		ch.finish = m.finish
	}
	if !m.has && calls == nil && m.refusal.value == nil && len(m.rest) == 0 {
		return dst, nil
	}
	dst = c.open(dst, at)
	if c.r.Endpoint == Completions {
		dst = append(append(append(dst, `,"text":"`...), m.content...), '"')
		dst = append(appendMembers(dst, m.rest), `,"logprobs":null,"finish_reason":null`...)
		return append(dst, c.suffix...), nil
	}
	dst = append(dst, `,"delta":{`...)
	begin := len(dst)
	if m.has {
		dst = append(append(append(dst, `,"content":"`...), m.content...), '"')
	}
	if m.refusal.value != nil {
		dst = append(append(dst, `,"refusal":`...), m.refusal.value...)
	}
	if calls != nil {
		var err *Error
		if dst, err = ch.appendCalls(append(dst, `,"tool_calls":[`...), calls); err != nil {
			return dst, err
		}
		dst = append(dst, ']')
	}
	dst = appendMembers(dst, m.rest)
	dst = append(dst[:begin], dst[begin+1:]...) // the first comma
	dst = append(dst, `},"finish_reason":null`...)
	return append(dst, c.suffix...), nil
}

// appendCalls appends the tool calls of a delta, with the indices of their calls.
func (ch *choice) appendCalls(dst, list []byte) ([]byte, *Error) {
	for i, item := range rawjson.Items(list) {
		dst = rawjson.Comma(dst, i > 0)
		known := len(ch.calls.calls)
		at := ch.calls.callOf(item)
		var part toolCall
		if err := part.add(item); err != nil {
			return dst, err
		}
		dst = part.append(dst, at, at == known)
	}
	return dst, nil
}

// End appends what remains of a prediction that has succeeded, or was canceled at its stop sequences: the items that
// are held, and the last chunk of each choice.
func (c *Chunks) End(dst []byte, prediction int) ([]byte, *Error) {
	if c.r.Endpoint == Transcriptions {
		return c.transcriptDone(dst), nil
	}
	each := c.r.inOne()
	for at := prediction * each; at < (prediction+1)*each; at++ {
		ch := &c.choices[at]
		if ch.ended {
			continue
		}
		dst = c.begin(dst, at)
		var err *Error
		if dst, err = c.appendAll(dst, at, ch.stop.flush()); err != nil {
			return dst, err
		}
		dst = c.finish(dst, at)
	}
	return dst, nil
}

// finish appends the last chunk of a choice.
func (c *Chunks) finish(dst []byte, at int) []byte {
	ch := &c.choices[at]
	ch.ended = true
	reason := ch.calls.reason()
	if ch.finish != "" {
		reason = ch.finish
	}
	dst = c.open(dst, at)
	if c.r.Endpoint == Completions {
		dst = append(dst, `,"text":"","logprobs":null`...)
	} else {
		dst = append(dst, `,"delta":{}`...)
	}
	dst = rawjson.AppendQuoted(append(dst, `,"finish_reason":`...), reason)
	return append(dst, c.suffix...)
}

// Output appends the chunks of a whole output, of a function that does not iterate. A text is one chunk.
func (c *Chunks) Output(dst []byte, prediction int, output []byte) ([]byte, *Error) {
	each := c.r.inOne()
	if c.r.Endpoint == Transcriptions {
		t, err := readTranscript(output)
		if err != nil {
			return dst, err
		}
		output = append(append([]byte{'"'}, t.text...), '"')
	}
	if each == 1 || c.r.Endpoint == Transcriptions {
		dst, _, err := c.Item(dst, prediction, output)
		return dst, err
	}
	messages, err := c.r.messagesOf(output)
	if err != nil {
		return dst, err
	}
	for i := range messages {
		at := prediction*each + i
		m := &messages[i]
		m.cut(c.r)
		dst = c.begin(dst, at)
		if dst, err = c.append(dst, at, append(append([]byte{'"'}, m.content...), '"')); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Done appends the end of a stream that succeeded.
func (c *Chunks) Done(dst []byte, u Usage) []byte {
	if c.r.Endpoint == Transcriptions {
		return dst
	}
	if c.r.IncludeUsage {
		dst = append(dst, c.prefix[:len(c.prefix)-len(`{"index":`)]...)
		dst = u.append(append(dst, `],"usage":`...), c.r.Endpoint)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// AppendFailure appends the event that ends a stream that failed.
func AppendFailure(dst []byte, err *Error) []byte {
	return append(err.AppendJSON(append(dst, "data: "...)), "\n\n"...)
}

func (c *Chunks) transcriptDelta(dst, item []byte) ([]byte, *Error) {
	var m message
	if err := m.add(item); err != nil {
		return dst, err
	}
	if !m.has {
		return dst, nil
	}
	c.whole = append(c.whole, m.content...)
	dst = append(append(dst, `data: {"type":"transcript.text.delta","delta":"`...), m.content...)
	return append(dst, "\"}\n\n"...), nil
}

func (c *Chunks) transcriptDone(dst []byte) []byte {
	dst = append(append(dst, `data: {"type":"transcript.text.done","text":"`...), c.whole...)
	return append(dst, "\"}\n\n"...)
}
