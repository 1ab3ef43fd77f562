package schema

import (
	"fmt"
	"slices"
	"strconv"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Stream is the streamed input of a model, whose items come one by one.
type Stream struct {
	Name string
	// Others is the schema of a request without it: the model gets null in its place.
	Others *Schema
	// YieldsBytes means that each item of the output is bytes, in base64.
	YieldsBytes bool

	list   *node
	binary bool // an item may be bytes
}

// Stream returns the streamed input, or nil if there is none.
func (s *Schema) Stream() *Stream { return s.stream }

// compileStream makes the stream of a field with the keyword x-cog-stream.
func (s *Schema) compileStream(i int, property map[string]any, d *document) {
	others := *s
	others.stream = nil
	others.fields = slices.Clone(s.fields)
	absent := newNode()
	absent.types, _ = compileTypes("null")
	others.fields[i] = field{name: s.fields[i].name, node: absent, addNull: true, mayBeAbsent: true}
	list := s.fields[i].node
	output, _ := d.schemas["Output"].(map[string]any)
	yielded, _ := output["items"].(map[string]any)
	s.stream = &Stream{Name: s.fields[i].name, Others: &others, YieldsBytes: yielded["format"] == "byte", list: list}
	if items, ok := property["items"].(map[string]any); ok {
		// The memory of an array says what it is if one length is open, and the type of its elements known.
		inner, _ := items["items"].(map[string]any)
		dtype, _ := items["x-pinion-dtype"].(string)
		s.stream.binary = list.fromFile || dtype != "" && inner != nil && inner["items"] == nil && inner["type"] != nil
	}
}

// Prepare validates the item of that index, JSON that rawjson.Check accepted. The error is a *predict.ValidationError, or
// of predict.RefusedSize.
func (st *Stream) Prepare(index int, item []byte) (Prepared, error) {
	if err := st.counts(index); err != nil {
		return Prepared{}, err
	}
	n := st.list.items
	if n == nil {
		return Prepared{Input: item}, nil
	}
	field := st.Name + "/" + strconv.Itoa(index)
	if !n.valid(item) && !n.takesTensors(item) {
		r := report{secret: n.hasSecret}
		if n.explain(&r, field, item); len(r.problems) > 0 {
			return Prepared{}, &predict.ValidationError{Problems: r.problems}
		}
	}
	prepared := Prepared{Input: item}
	if n.hasURI && rawjson.KindOf(item) != rawjson.KindNull {
		prepared.Files = n.collect(nil, item, 0, field)
	}
	attached := 0
	for i := range prepared.Files {
		if prepared.Files[i].URL == "" {
			attached++
		}
	}
	if predict.CountPlaceholders(item) > attached {
		return Prepared{}, st.invalid(index, fmt.Sprintf(msgFile, "a file"))
	}
	return prepared, nil
}

// Binary reports whether the item of that index may be bytes: nil, or an error of Prepare.
func (st *Stream) Binary(index int) error {
	if !st.binary {
		return st.invalid(index, "this input takes no binary items: send JSON")
	}
	return st.counts(index)
}

// NotStreamed returns the error for items of an input that is another.
func (st *Stream) NotStreamed(name string) error {
	return &predict.ValidationError{Problems: []predict.Problem{
		problem(name, predict.TypeValue, "its items cannot be streamed: the streamed input is "+st.Name),
	}}
}

func (st *Stream) counts(index int) error {
	if most := st.list.maxItems; most >= 0 && index >= most {
		text := st.Name + "/" + strconv.Itoa(index) + ": there are more than " + count(most, "item", "items")
		return predict.Refused(predict.RefusedSize, text)
	}
	return nil
}

func (st *Stream) invalid(index int, msg string) error {
	field := st.Name + "/" + strconv.Itoa(index)
	return &predict.ValidationError{Problems: []predict.Problem{problem(field, predict.TypeValue, msg)}}
}
