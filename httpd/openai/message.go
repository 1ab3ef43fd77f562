package openai

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strconv"

	"pinion/runtime/rawjson"
)

// message is the text of a choice, from what the function returned or yielded.
type message struct {
	content []byte // the text as the inside of a JSON string; see has
	has     bool   // there is content
	refusal member // its value is JSON, or nil
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
			if err := m.refusal.join(value); err != nil {
				return err
			}
		case "finish_reason":
			m.finish = rawjson.Text(value)
		case "role", "index":
		default:
			var err *Error
			if m.rest, err = joinMember(m.rest, name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinMember adds what an item has of a member, as clients do with the parts of a stream: texts and lists are joined,
// objects member by member, and of other values the last one counts.
func joinMember(list []member, name string, value []byte) ([]member, *Error) {
	m := find(list, name)
	if m == nil {
		if len(list) == maxMembers { // each name is compared with all others
			return list, BadOutput("The model returned a dict with more than " + strconv.Itoa(maxMembers) + " members.")
		}
		list = append(list, member{name: name})
		m = &list[len(list)-1]
	}
	return list, m.join(value)
}

// join adds another part of the value.
func (m *member) join(value []byte) *Error {
	kind := rawjson.KindOf(value)
	switch {
	case m.value == nil, kind != rawjson.KindOf(m.value):
		m.value, m.members, m.joined = value, nil, false
	case kind == object:
		if m.members == nil {
			if err := m.joinObject(m.value); err != nil {
				return err
			}
		}
		return m.joinObject(value)
	case kind == text:
		m.own()
		m.value = append(m.value[:len(m.value)-1], value[1:]...)
	case kind == array:
		m.own()
		for _, item := range rawjson.Items(value) {
			m.value = m.value[:len(m.value)-1]
			m.value = rawjson.Comma(m.value, m.value[len(m.value)-1] != '[')
			m.value = append(append(m.value, item...), ']')
		}
	default:
		m.value = value
	}
	return nil
}

// own makes the value a copy that may grow. A list loses the space at its ends.
func (m *member) own() {
	if m.joined {
		return
	}
	m.joined = true
	value := bytes.TrimSpace(m.value)
	inner := value[1 : len(value)-1]
	if rawjson.KindOf(value) == array {
		inner = bytes.TrimSpace(inner)
	}
	m.value = slices.Concat(value[:1], inner, value[len(value)-1:])
}

func (m *member) joinObject(value []byte) (err *Error) {
	for key, part := range rawjson.Members(value) {
		if m.members, err = joinMember(m.members, rawjson.KeyText(key), part); err != nil {
			return err
		}
	}
	return nil
}

// appendTo appends the name and the value.
func (m *member) appendTo(dst []byte) []byte {
	dst = append(rawjson.AppendQuoted(dst, m.name), ':')
	if m.members == nil {
		return append(dst, m.value...)
	}
	dst = append(dst, '{')
	for i := range m.members {
		dst = rawjson.Comma(dst, i > 0)
		dst = m.members[i].appendTo(dst)
	}
	return append(dst, '}')
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
			var err *Error
			if c.rest, err = joinMember(c.rest, name, value); err != nil {
				return err
			}
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
func (m *message) cut(r *Request) bool {
	if len(r.Stop) == 0 || !m.has {
		return false
	}
	whole := rawjson.Text(slices.Concat([]byte{'"'}, m.content, []byte{'"'}))
	match := r.stops.newMatcher()
	if found, at := match.add(whole); found != "" {
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
	if m.refusal.value != nil {
		dst = append(dst, m.refusal.value...)
	} else {
		dst = append(dst, "null"...)
	}
	if len(m.calls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i := range m.calls {
			dst = rawjson.Comma(dst, i > 0)
			dst = m.calls[i].append(dst, -1, true)
		}
		dst = append(dst, ']')
	}
	return append(appendMembers(dst, m.rest), '}')
}

func appendMembers(dst []byte, list []member) []byte {
	for i := range list {
		dst = list[i].appendTo(append(dst, ','))
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
	for i := range c.rest {
		comma()
		dst = c.rest[i].appendTo(dst)
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
