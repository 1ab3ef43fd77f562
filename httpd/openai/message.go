package openai

import (
	"crypto/rand"
	"slices"
	"strconv"

	"pinion/runtime/rawjson"
)

// message is the text of a choice, from what the function returned or yielded.
type message struct {
	content []byte // the text as the inside of a JSON string; see has
	has     bool   // there is content
	refusal []byte // JSON, or nil
	calls   []toolCall
	finish  string
	rest    []member // further keys, which go along
}

// toolCall is a call of a tool by the model.
type toolCall struct {
	id, kind  []byte // JSON strings; nil means not known yet
	name      []byte // JSON
	arguments []byte // the text as the inside of a JSON string
	rest      []member
	function  bool // it has a function, and is not of another kind
}

// add adds what the function returned, or an item that it yielded.
func (m *message) add(output []byte) *Error {
	switch rawjson.KindOf(output) {
	case rawjson.KindNull:
	case text:
		m.has = true
		m.content = append(m.content, inside(output)...)
	case object:
		return m.addObject(output)
	default:
		return BadOutput("The model returned " + typeOf(output) +
			"; a function of this endpoint returns or yields str or dict.")
	}
	return nil
}

// inside returns a JSON string without its quotes.
func inside(s []byte) []byte { return s[1 : len(s)-1] }

func (m *message) addObject(output []byte) *Error {
	for key, value := range rawjson.Members(output) {
		kind := rawjson.KindOf(value)
		name := rawjson.KeyText(key)
		if kind == rawjson.KindNull {
			continue
		}
		switch name {
		case "content", "text":
			if kind != text {
				return BadOutput("The model returned " + typeOf(value) + " as " + name + "; it must be a str.")
			}
			m.has = true
			m.content = append(m.content, inside(value)...)
		case "tool_calls":
			if kind != array {
				return BadOutput("The model returned " + typeOf(value) + " as tool_calls; it must be a list.")
			}
			if err := m.addCalls(value); err != nil {
				return err
			}
		case "refusal":
			m.refusal = value
		case "finish_reason":
			m.finish = rawjson.Text(value)
		case "role", "index":
		default:
			m.rest = put(m.rest, name, value)
		}
	}
	return nil
}

// put sets a member; the last of equal names counts.
func put(list []member, name string, value []byte) []member {
	if m := find(list, name); m != nil {
		m.value = value
		return list
	}
	return append(list, member{name: name, value: value})
}

func find(list []member, name string) *member {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

// addCalls adds tool calls, or parts of them: a part has the index of its call.
func (m *message) addCalls(list []byte) *Error {
	for _, item := range rawjson.Items(list) {
		if rawjson.KindOf(item) != object {
			return BadOutput("The model returned " + typeOf(item) + " as a tool call; it must be a dict.")
		}
		if err := m.calls[m.callOf(item)].add(item); err != nil {
			return err
		}
	}
	return nil
}

// callOf returns the index of the call that an item is about, which may be a new one.
func (m *message) callOf(item []byte) int {
	at := len(m.calls)
	if value := Member(item, "index"); value != nil {
		if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 && n <= len(m.calls) {
			at = n
		}
	}
	if at == len(m.calls) {
		m.calls = append(m.calls, toolCall{})
	}
	return at
}

func (c *toolCall) add(item []byte) *Error {
	for key, value := range rawjson.Members(item) {
		if rawjson.KindOf(value) == rawjson.KindNull {
			continue
		}
		switch name := rawjson.KeyText(key); name {
		case "id":
			c.id = value
		case "type":
			c.kind = value
		case "index":
		case "function":
			if rawjson.KindOf(value) != object {
				return BadOutput("The model returned " + typeOf(value) + " as the function of a tool call; it must be a dict.")
			}
			c.function = true
			for key, value := range rawjson.Members(value) {
				switch {
				case rawjson.KindOf(value) == rawjson.KindNull:
				case rawjson.KeyIs(key, "name"):
					c.name = value
				case rawjson.KeyIs(key, "arguments"):
					c.arguments = append(c.arguments, argumentsText(value)...)
				}
			}
		default:
			c.rest = put(c.rest, name, value)
		}
	}
	return nil
}

// argumentsText returns arguments as the inside of a JSON string; those that are a dict become its text.
func argumentsText(value []byte) []byte {
	if rawjson.KindOf(value) == text {
		return inside(value)
	}
	return inside(rawjson.AppendQuotedBytes(nil, value))
}

// Member returns a member of an object, or nil.
func Member(object []byte, name string) (found []byte) {
	for key, value := range rawjson.Members(object) {
		if rawjson.KeyIs(key, name) {
			found = value
		}
	}
	return found
}

// reason returns the finish_reason of a message that has ended.
func (m *message) reason() string {
	switch {
	case m.finish != "":
		return m.finish
	case len(m.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// cut ends the text before the first stop sequence; false means it has none.
func (m *message) cut(stops []string) bool {
	if len(stops) == 0 || !m.has {
		return false
	}
	whole := rawjson.Text(slices.Concat([]byte{'"'}, m.content, []byte{'"'}))
	if at := firstStop(whole, stops); at >= 0 {
		m.content = inside(rawjson.AppendQuoted(nil, whole[:at]))
		m.finish = "stop"
		return true
	}
	return false
}

// append appends the message object of a chat.
func (m *message) append(dst []byte) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	if m.has {
		dst = append(append(append(dst, '"'), m.content...), '"')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"refusal":`...)
	if m.refusal != nil {
		dst = append(dst, m.refusal...)
	} else {
		dst = append(dst, "null"...)
	}
	if len(m.calls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i := range m.calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.calls[i].append(dst, -1, true)
		}
		dst = append(dst, ']')
	}
	return append(appendMembers(dst, m.rest), '}')
}

func appendMembers(dst []byte, list []member) []byte {
	for _, r := range list {
		dst = append(rawjson.AppendQuoted(append(dst, ','), r.name), ':')
		dst = append(dst, r.value...)
	}
	return dst
}

// append appends a tool call, or a part of one with its index. first means that its id and type are filled in.
func (c *toolCall) append(dst []byte, index int, first bool) []byte {
	dst = append(dst, '{')
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	if index >= 0 {
		dst = strconv.AppendInt(append(dst, `"index":`...), int64(index), 10)
	}
	id, kind := c.id, c.kind
	if first && id == nil {
		id = rawjson.AppendQuoted(nil, newCallID())
	}
	if first && kind == nil {
		kind = []byte(`"function"`)
	}
	if id != nil {
		comma()
		dst = append(append(dst, `"id":`...), id...)
	}
	if kind != nil {
		comma()
		dst = append(append(dst, `"type":`...), kind...)
	}
	if c.function {
		comma()
		dst = append(dst, `"function":{`...)
		if c.name != nil {
			dst = append(append(append(dst, `"name":`...), c.name...), ',')
		}
		dst = append(append(append(dst, `"arguments":"`...), c.arguments...), `"}`...)
	}
	for _, r := range c.rest {
		comma()
		dst = append(rawjson.AppendQuoted(dst, r.name), ':')
		dst = append(dst, r.value...)
	}
	return append(dst, '}')
}

func newCallID() string { return "call_" + rand.Text()[:24] }

// Text returns the text of a member of an object, or "" if that is not a string.
func Text(object []byte, name string) string {
	value := Member(object, name)
	if rawjson.KindOf(value) != text {
		return ""
	}
	return rawjson.Text(value)
}
