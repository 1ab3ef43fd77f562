package openai

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// Field is a row of a dialect's table of parameters: what happens to one. A row with a name alone hands it on, as does the
// absence of a row: the function may take it.
type Field[D any] struct {
	Name string
	// Read uses it.
	Read func(d D, value []byte) *Error
	// As is the name by which it is handed on.
	As string
	// Label means that it only tunes or labels the answer. It is handed on; a function that does not take it ignores it
	// with a warning.
	Label bool
	// Foreign means that chat completions have it, and this API does not.
	Foreign bool
	// Lacks says why it is refused: the answer would be wrong without it. Neutral is a value that asks for nothing, and
	// Details is JSON for the client.
	Lacks, Neutral, Details string
}

// ReadFields translates the parameters of a request by a dialect's table. The one that holds the messages is read by
// the caller.
func ReadFields[D any](t *Translation, d D, table []Field[D], body []byte) *Error {
	if _, err := ParseJSON(body); err != nil {
		return err
	}
	for key, value := range rawjson.Members(body) {
		if rawjson.KindOf(value) == rawjson.KindNull {
			continue
		}
		name := rawjson.Name(key)
		f := Field[D]{Name: name}
		if at := slices.IndexFunc(table, func(f Field[D]) bool { return f.Name == name }); at >= 0 {
			f = table[at]
		}
		var err *Error
		switch {
		case f.Read != nil:
			err = f.Read(d, value)
		case f.Foreign:
			err = Unknown(name)
		case f.Lacks == "":
			t.Add(cmp.Or(f.As, name), value)
			if f.Label {
				t.labels = append(t.labels, name)
			}
		case string(value) != f.Neutral:
			err = Unsupported(name, f.Lacks)
			err.Details = f.Details
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Words are the names by which a dialect calls what chat completions have too, and its tables.
type Words struct {
	// Tool is the type of a tool of which the client says all; with Untyped, one without a type is such a tool.
	Tool    string
	Untyped bool
	// Schema is the member of a tool with its parameters; with NeedsSchema, it must be there.
	Schema      string
	NeedsSchema bool
	// Namespace is the type of a list of tools under one name; "" means there is none.
	Namespace string
	// Tools are the other tools that the client runs.
	Tools []Tool
	// CallID and Arguments are the members of a call. Arguments are an object, or its text.
	CallID, Arguments string
	ArgumentsAre      rawjson.Kind
	// ResultOf and Result are the members of a tool's result; with NeedsResult, it must be there.
	ResultOf, Result string
	NeedsResult      bool
	// Parts are the parts of contents.
	Parts []Part
}

// Part is a row of a dialect's table of the parts of contents. Of one without a row the text is taken; without text it
// is refused.
type Part struct {
	Type string
	// Append appends it in the form of chat completions. nil means that the server has no use for it: its text is taken,
	// if it has one, and else it is left out with a warning.
	Append func(t *Translation, dst []byte, param string, part []byte) ([]byte, *Error)
}

// Translation makes the body of a chat completion from a request of a dialect. The parameters in errors are those of the
// dialect.
type Translation struct {
	words    *Words
	params   []byte
	messages []byte
	toolset
	labels []string // parameters that only tune or label the answer
	left   []string // what was left out
}

// NewTranslation begins a body.
func NewTranslation(w *Words) Translation { return Translation{words: w} }

// Chat returns the body. It implements Dialog.
func (t *Translation) Chat() []byte {
	return slices.Concat([]byte{'{'}, t.params, []byte(`"messages":[`), t.messages, []byte("]}"))
}

// Notes implements Dialog.
func (t *Translation) Notes() (labels, left []string) { return t.labels, t.left }

// maxLeft is how many kinds of what was left out are told.
const maxLeft = 10

// LeaveOut notes that something is left out, for the warning.
func (t *Translation) LeaveOut(what string) {
	if what = logtext.Clip(what); len(t.left) < maxLeft && !slices.Contains(t.left, what) {
		t.left = append(t.left, what)
	}
}

// Add adds a parameter.
func (t *Translation) Add(name string, value []byte) {
	t.params = append(rawjson.AppendQuoted(t.params, name), ':')
	t.params = append(append(t.params, value...), ',')
}

// AddLabel adds a parameter that the dialect has by another name, and that only tunes the answer.
func (t *Translation) AddLabel(name string, value []byte) {
	t.Add(name, value)
	t.labels = append(t.labels, name)
}

// AddMessage adds a message. content is a string or an array, or nil; calls is a list by AppendCall, or nil; thought is
// what the model thought before it, the inside of a JSON string, or nil.
func (t *Translation) AddMessage(role string, content, calls, thought []byte) {
	t.next()
	t.messages = rawjson.AppendQuoted(append(t.messages, `{"role":`...), role)
	if content == nil {
		content = []byte("null")
	}
	t.messages = append(append(t.messages, `,"content":`...), content...)
	if thought != nil {
		t.messages = AppendText(append(t.messages, `,"reasoning_content":`...), thought)
	}
	if calls != nil {
		t.messages = append(append(append(t.messages, `,"tool_calls":`...), calls...), ']')
	}
	t.messages = append(t.messages, '}')
}

// next begins a message.
func (t *Translation) next() {
	t.messages = rawjson.Comma(t.messages, len(t.messages) > 0)
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
	return t.AddResultOf(id, param+"."+t.words.Result, content)
}

// AddResultOf adds the result of a call, of which id is a JSON string.
func (t *Translation) AddResultOf(id []byte, param string, content []byte) (err *Error) {
	t.next()
	t.messages = append(append(append(t.messages, `{"role":"tool","tool_call_id":`...), id...), `,"content":`...)
	t.messages, err = t.AppendContent(t.messages, param, content)
	t.messages = append(t.messages, '}')
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
	dst, err := t.AppendParts(append(dst, '['), param, value)
	return append(dst, ']'), err
}

// AppendParts appends parts to a list.
func (t *Translation) AppendParts(dst []byte, param string, list []byte) (_ []byte, err *Error) {
	for i, part := range rawjson.Items(list) {
		if dst, err = t.AppendPart(dst, Indexed(param, i), part); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AppendPart appends a part of a content to a list, with its comma. It may append nothing.
func (t *Translation) AppendPart(dst []byte, param string, part []byte) (_ []byte, err *Error) {
	if rawjson.KindOf(part) != object {
		return dst, WrongType(param, "an object", part)
	}
	kind := Text(part, "type")
	if kind == "" {
		return dst, Missing(param + ".type")
	}
	at := slices.IndexFunc(t.words.Parts, func(p Part) bool { return p.Type == kind })
	before := len(dst)
	dst = rawjson.Comma(dst, dst[before-1] != '[' && dst[before-1] != ',')
	begin := len(dst)
	switch said := ""; {
	case at >= 0 && t.words.Parts[at].Append != nil:
		dst, err = t.words.Parts[at].Append(t, dst, param, part)
	default:
		if said = TextOf(part); said != "" {
			dst = append(rawjson.AppendQuoted(append(dst, `{"type":"text","text":`...), said), '}')
		} else if at >= 0 {
			t.LeaveOut("content of type " + kind)
		} else {
			err = Unsupported(param+".type", "content of type '"+logtext.Clip(kind)+"' has no text, and is not known")
		}
	}
	if len(dst) == begin {
		dst = dst[:before]
	}
	return dst, err
}

// textDepth is how deep TextOf looks, which bounds its work: each level reads what is below it again.
const textDepth = 4

// TextOf returns the text of a part or an item that has no row: its members text, content and output, in lines.
func TextOf(value []byte) string {
	return strings.Join(textsOf(nil, value, textDepth), "\n")
}

func textsOf(to []string, value []byte, depth int) []string {
	switch kind := rawjson.KindOf(value); {
	case kind == text:
		return append(to, rawjson.Text(value))
	case kind == array && depth > 0:
		for _, item := range rawjson.Items(value) {
			to = textsOf(to, item, depth-1)
		}
	case kind == object && depth > 0:
		for key, member := range rawjson.Members(value) {
			if rawjson.KeyIs(key, "text") || rawjson.KeyIs(key, "content") || rawjson.KeyIs(key, "output") {
				to = textsOf(to, member, depth-1)
			}
		}
	}
	return to
}

// AppendThought appends what the model thought, a JSON string, to more of it, in lines.
func AppendThought(dst, more []byte) []byte {
	if rawjson.KindOf(more) != text || len(more) <= len(`""`) {
		return dst
	}
	if dst != nil {
		dst = append(dst, `\n`...)
	}
	return append(dst, inside(more)...)
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
	return AppendCallOf(list, id, t.NameIn(Text(call, "namespace"), name), argumentsText(arguments)), nil
}

// NameIn returns the name, a JSON string, by which the model has a tool of a namespace; "" means of none.
func (t *Translation) NameIn(space string, name []byte) []byte {
	if space == "" || t.words.Namespace == "" {
		return name
	}
	return rawjson.AppendQuoted(nil, spacedName(space, rawjson.Text(name)))
}

// AppendCallOf appends a call by its id and name, which are JSON strings, and the inside of one with its arguments.
func AppendCallOf(list, id, name, arguments []byte) []byte {
	list = append(append(append(AppendComma(list), `{"id":`...), id...), `,"type":"function","function":{"name":`...)
	list = append(append(append(list, name...), `,"arguments":"`...), arguments...)
	return append(list, `"}}`...)
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

// AppendText appends the text of a message's part as a JSON string.
func AppendText(dst, text []byte) []byte { return append(append(append(dst, '"'), text...), '"') }

// spacedName returns the name by which the model has a tool of a namespace.
func spacedName(space, name string) string { return space + "__" + name }
