package openai

import (
	"strconv"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// Words are the names by which a dialect calls what chat completions have too.
type Words struct {
	// Tool is the type of a tool that the client runs; with Untyped, one without a type is such a tool.
	Tool    string
	Untyped bool
	// Schema is the member of a tool with its parameters; with NeedsSchema, it must be there.
	Schema      string
	NeedsSchema bool
	// CallID and Arguments are the members of a call. Arguments are an object, or its text.
	CallID, Arguments string
	ArgumentsAre      rawjson.Kind
	// ResultOf and Result are the members of a tool's result; with NeedsResult, it must be there.
	ResultOf, Result string
	NeedsResult      bool
	// AppendPart appends a part of a content in the form of chat completions. kind is its type.
	AppendPart func(dst []byte, param, kind string, part []byte) ([]byte, *Error)
}

// Translation makes the body of a chat completion from a request of a dialect: first its parameters, then its messages.
// The parameters in errors are those of the dialect.
type Translation struct {
	words    *Words
	dst      []byte
	messages int
}

// NewTranslation begins a body.
func NewTranslation(w *Words) Translation { return Translation{words: w, dst: []byte{'{'}} }

// Chat ends the body and returns it. It implements Dialog.
func (t *Translation) Chat() []byte {
	if t.messages == 0 {
		t.next()
	}
	return append(t.dst, "]}"...)
}

// Add adds a parameter. It is called before any message is added.
func (t *Translation) Add(name string, value []byte) {
	t.dst = append(rawjson.AppendQuoted(t.dst, name), ':')
	t.dst = append(append(t.dst, value...), ',')
}

// AddTools adds the tools. A model of this server can call only those that the client runs.
func (t *Translation) AddTools(list []byte) *Error {
	if rawjson.KindOf(list) != array {
		return WrongType("tools", "an array", list)
	}
	dst := []byte{'['}
	for i, tool := range rawjson.Items(list) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *Error
		if dst, err = t.appendTool(dst, Indexed("tools", i), tool); err != nil {
			return err
		}
	}
	t.Add("tools", append(dst, ']'))
	return nil
}

func (t *Translation) appendTool(dst []byte, param string, tool []byte) ([]byte, *Error) {
	if rawjson.KindOf(tool) != object {
		return dst, WrongType(param, "an object", tool)
	}
	if kind := Text(tool, "type"); kind != t.words.Tool && (kind != "" || !t.words.Untyped) {
		return dst, Unsupported(param+".type",
			"this server does not run tools of type '"+logtext.Clip(kind)+"', only the client does, of type '"+t.words.Tool+"'")
	}
	name, err := Required(param, tool, "name", text)
	if err != nil {
		return dst, err
	}
	dst = append(append(dst, `{"type":"function","function":{"name":`...), name...)
	for _, m := range [...]struct{ here, chat string }{
		{"description", "description"}, {t.words.Schema, "parameters"}, {"strict", "strict"},
	} {
		value := Member(tool, m.here)
		if m.chat == "parameters" && (t.words.NeedsSchema || IsGiven(value)) {
			if value, err = Required(param, tool, m.here, object); err != nil {
				return dst, err
			}
		}
		if IsGiven(value) {
			dst = append(rawjson.AppendQuoted(append(dst, ','), m.chat), ':')
			dst = append(dst, value...)
		}
	}
	return append(dst, "}}"...), nil
}

// ChooseTool adds the choice of the tool that value names.
func (t *Translation) ChooseTool(value []byte) *Error {
	name, err := Required("tool_choice", value, "name", text)
	if err == nil {
		t.Add("tool_choice", append(append([]byte(`{"type":"function","function":{"name":`), name...), "}}"...))
	}
	return err
}

// AddMessage adds a message. content is a string or an array, or nil; calls is a list by AppendCall, or nil.
func (t *Translation) AddMessage(role string, content, calls []byte) {
	t.next()
	t.dst = rawjson.AppendQuoted(append(t.dst, `{"role":`...), role)
	if content == nil {
		content = []byte("null")
	}
	t.dst = append(append(t.dst, `,"content":`...), content...)
	if calls != nil {
		t.dst = append(append(append(t.dst, `,"tool_calls":`...), calls...), ']')
	}
	t.dst = append(t.dst, '}')
}

// next begins a message.
func (t *Translation) next() {
	if t.messages++; t.messages == 1 {
		t.dst = append(t.dst, `"messages":[`...)
	} else {
		t.dst = append(t.dst, ',')
	}
}

// AddResult adds the result of a tool.
func (t *Translation) AddResult(param string, result []byte) *Error {
	id, err := Required(param, result, t.words.ResultOf, text)
	if err != nil {
		return err
	}
	content := Member(result, t.words.Result)
	if !IsGiven(content) {
		if t.words.NeedsResult {
			return Missing(param + "." + t.words.Result)
		}
		content = []byte(`""`)
	}
	t.next()
	t.dst = append(append(append(t.dst, `{"role":"tool","tool_call_id":`...), id...), `,"content":`...)
	t.dst, err = t.AppendContent(t.dst, param+"."+t.words.Result, content)
	t.dst = append(t.dst, '}')
	return err
}

// AppendContent appends a content: a text, or a list of parts.
func (t *Translation) AppendContent(dst []byte, param string, value []byte) ([]byte, *Error) {
	switch rawjson.KindOf(value) {
	case text:
		return append(dst, value...), nil
	case array:
	default:
		return dst, WrongType(param, "a string or an array", value)
	}
	dst = append(dst, '[')
	for i, part := range rawjson.Items(value) {
		at := Indexed(param, i)
		if rawjson.KindOf(part) != object {
			return dst, WrongType(at, "an object", part)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *Error
		if dst, err = t.words.AppendPart(dst, at, Text(part, "type"), part); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// AppendCall appends a call of a tool to a list, which has no closing bracket.
func (t *Translation) AppendCall(list []byte, param string, call []byte) ([]byte, *Error) {
	id, err := Required(param, call, t.words.CallID, text)
	if err != nil {
		return list, err
	}
	name, err := Required(param, call, "name", text)
	if err != nil {
		return list, err
	}
	arguments, err := Required(param, call, t.words.Arguments, t.words.ArgumentsAre)
	if err != nil {
		return list, err
	}
	list = append(append(append(AppendComma(list), `{"id":`...), id...), `,"type":"function","function":{"name":`...)
	list = append(append(append(list, name...), `,"arguments":"`...), argumentsText(arguments)...)
	return append(list, `"}}`...), nil
}

// AppendTextPart appends a part with the text that is a member of one of the dialect.
func AppendTextPart(dst []byte, param string, part []byte, name string) ([]byte, *Error) {
	value, err := Required(param, part, name, text)
	return append(append(append(dst, `{"type":"text","text":`...), value...), '}'), err
}

// AppendComma appends what comes before an item of a list: a bracket if dst is nil, else a comma.
func AppendComma(dst []byte) []byte {
	if dst == nil {
		return []byte{'['}
	}
	return append(dst, ',')
}

// Required returns a member of an object that must be there and have a kind. param is that of the object.
func Required(param string, object []byte, name string, kind rawjson.Kind) ([]byte, *Error) {
	value := Member(object, name)
	switch {
	case !IsGiven(value):
		return nil, Missing(param + "." + name)
	case rawjson.KindOf(value) != kind:
		return nil, WrongType(param+"."+name, wanted(kind), value)
	}
	return value, nil
}

// IsGiven reports whether a value is there and not null.
func IsGiven(value []byte) bool { return value != nil && rawjson.KindOf(value) != rawjson.KindNull }

// Indexed returns the name of an item of a list.
func Indexed(param string, i int) string { return param + "[" + strconv.Itoa(i) + "]" }
