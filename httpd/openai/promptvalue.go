package openai

import (
	"strconv"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// promptValue is the value of an endpoint's main parameter for a prompt.
type promptValue struct {
	value []byte
	list  bool // the function takes a list with it
}

// len returns how many bytes it has as JSON.
func (s promptValue) len() int {
	if s.list {
		return len(s.value) + len("[]")
	}
	return len(s.value)
}

func (s promptValue) append(dst []byte) []byte {
	if s.list {
		return append(append(append(dst, '['), s.value...), ']')
	}
	return append(dst, s.value...)
}

// readPromptValues returns the value of the endpoint's main parameter for each prompt.
func (f *Function) readPromptValues(r *Request, b *Body) ([]promptValue, *Error) {
	name := f.Endpoint.promptName()
	value := b.get(name, anything)
	if value == nil {
		return nil, Missing(name)
	}
	switch f.Endpoint {
	case Chat:
		if err := checkMessages(value); err != nil {
			return nil, err
		}
		shaped := f.shapeMessages(r, value)
		if &shaped[0] != &value[0] {
			r.copied += int64(len(shaped))
		}
		return []promptValue{{value: shaped}}, nil
	case Transcriptions:
		if m := find(b.members, name); !b.form || m.field[len(m.field)-1].Form != predict.FieldFile {
			return nil, WrongType(name, "a file", value)
		}
		return []promptValue{{value: value}}, nil
	case Rerank:
		return f.readDocuments(r, value)
	case Images, Speech:
		if rawjson.KindOf(value) != text {
			return nil, WrongType(name, "a string", value)
		}
		return []promptValue{{value: value}}, nil
	}
	values, items, err := f.split(name, value)
	r.items = items
	if err == nil && len(values)*r.perPrompt > maxInputs {
		err = WrongValue(name, "it makes more than "+strconv.Itoa(maxInputs)+" predictions.")
	}
	return values, err
}

func checkMessages(value []byte) *Error {
	if rawjson.KindOf(value) != array {
		return WrongType("messages", "an array", value)
	}
	empty := true
	for i, item := range rawjson.Items(value) {
		empty = false
		param := Indexed("messages", i)
		if rawjson.KindOf(item) != object {
			return WrongType(param, "an object", item)
		}
		switch role := Member(item, "role"); {
		case role == nil:
			return Missing(param + ".role")
		case rawjson.KindOf(role) != text:
			return WrongType(param+".role", "a string", role)
		}
	}
	if empty {
		return WrongValue("messages", "must have at least one message.")
	}
	return nil
}

// split returns the values for the function's calls, and how many texts they hold: a prompt, or an input to embed, is a
// text, a list of them, token ids, or a list of such lists.
func (f *Function) split(name string, value []byte) (values []promptValue, items int, err *Error) {
	taken := f.inputs[name]
	form, count, err := formOf(name, value)
	if err != nil {
		return nil, 0, err
	}
	single, many := formText, formTexts
	if form == formTokens || form == formTokenLists {
		single, many = formTokens, formTokenLists
	}
	isOne := form == single
	switch {
	case isOne && taken&single != 0:
		return []promptValue{{value: value}}, 1, nil
	case isOne && taken&many != 0:
		return []promptValue{{value: value, list: true}}, 1, nil
	case !isOne && taken&many != 0 && (f.Endpoint == Embeddings || taken&single == 0):
		return []promptValue{{value: value}}, count, nil
	case !isOne && taken&single != 0:
		for _, item := range rawjson.Items(value) {
			values = append(values, promptValue{value: item})
		}
		return values, count, nil
	case single == formTokens:
		return nil, 0, invalid(name, CodeInvalidType, "Invalid type for '"+name+"': this model takes text, not token ids.")
	}
	return nil, 0, invalid(name, CodeInvalidType, "Invalid type for '"+name+"': this model takes token ids, not text.")
}

// formOf returns the form of a value and how many texts it holds.
func formOf(name string, value []byte) (forms, int, *Error) {
	const wanted = "a string, an array of strings, an array of token ids, or an array of such arrays"
	if rawjson.KindOf(value) == text {
		return formText, 1, nil
	}
	if rawjson.KindOf(value) != array {
		return 0, 0, WrongType(name, wanted, value)
	}
	items := rawjson.Array(value)
	first, ok := items.Next()
	if !ok {
		return 0, 0, WrongValue(name, "it is empty.")
	}
	kind := rawjson.KindOf(first)
	var form forms
	switch kind {
	case text:
		form = formTexts
	case number:
		form = formTokens
	case array:
		form = formTokenLists
	default:
		return 0, 0, WrongType(name+"[0]", "a string or token ids", first)
	}
	count := 0
	for item := first; ok; item, ok = items.Next() {
		param := Indexed(name, count)
		if rawjson.KindOf(item) != kind {
			return 0, 0, WrongType(param, wantedItem(kind), item)
		}
		if err := checkTokens(param, kind, item); err != nil {
			return 0, 0, err
		}
		if count++; form != formTokens && count > maxInputs {
			return 0, 0, WrongValue(name, "it has more than "+strconv.Itoa(maxInputs)+" items.")
		}
	}
	if form == formTokens {
		count = 1
	}
	return form, count, nil
}

func wantedItem(kind rawjson.Kind) string {
	if kind == number {
		return "an integer"
	}
	return wanted(kind)
}

func checkTokens(param string, kind rawjson.Kind, item []byte) *Error {
	switch kind {
	case number:
		if !isInteger(item) {
			return WrongType(param, "an integer", item)
		}
	case array:
		empty := true
		for i, token := range rawjson.Items(item) {
			empty = false
			if !isInteger(token) {
				return WrongType(Indexed(param, i), "an integer", token)
			}
		}
		if empty {
			return WrongValue(param, "it is empty.")
		}
	}
	return nil
}
