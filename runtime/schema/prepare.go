package schema

import (
	"bytes"
	"cmp"
	"slices"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Prepared is a validated input, and File a value in it that names a file.
type (
	Prepared = predict.Prepared
	File     = predict.File
)

// maxUnknown bounds how many unknown names, of logtext.MaxShown bytes each, a client can make the server log.
const maxUnknown = 100

// rootField names the whole input in a problem.
const rootField = "__root__"

// inlineFields is the number of fields up to which Prepare allocates no spans.
const inlineFields = 24

// span has the offsets of a field's value; the zero span is an absent one.
type span struct{ start, end int }

// Prepare validates input, a JSON object that rawjson.Check accepted, and prepares it for the model. nil is an empty
// object. The error is a *predict.ValidationError.
func (s *Schema) Prepare(input []byte) (Prepared, error) {
	return s.PrepareWith(input, rawjson.Lists{}, nil)
}

// PrepareWith is Prepare for an input with known lists. spill is where a rewritten input goes; nil means to memory. Its
// error is returned as it is.
func (s *Schema) PrepareWith(input []byte, lists rawjson.Lists, spill func() Spill) (Prepared, error) {
	if len(input) == 0 {
		input = []byte("{}")
	}
	if rawjson.KindOf(input) != rawjson.KindObject {
		var r report
		addType(&r, rootField, input, []string{"object"})
		return Prepared{}, &predict.ValidationError{Problems: r.problems}
	}
	var inline [inlineFields]span
	spans := inline[:]
	if len(s.fields) > len(spans) {
		spans = make([]span, len(s.fields))
	}
	spans = spans[:len(s.fields)]

	changed, unknown := s.read(input, lists, spans)
	good := s.root == nil
	for i := range s.fields {
		f := &s.fields[i]
		switch at := spans[i]; {
		case at.end != 0:
			good = good && (lists.Is(at.start, at.end) && f.node.validNumbers(input[at.start:at.end]) ||
				f.node.valid(input[at.start:at.end]) ||
				f.node.takesTensors(input[at.start:at.end]) || f.node.takesFile(input[at.start:at.end]))
		case f.required:
			good = false
		case f.addNull:
			changed = true
		}
	}
	if !good && s.files {
		if filled, ok, err := s.withoutEmptyFiles(input, spans, open(spill)); err != nil {
			return Prepared{}, err
		} else if ok {
			return s.PrepareWith(filled, rawjson.Lists{}, spill)
		}
	}
	prepared := Prepared{Input: input, Unknown: unknown, Warnings: s.warnings(unknown)}
	if changed {
		var err error
		if prepared.Input, err = s.rewrite(input, spans, open(spill)); err != nil {
			return Prepared{}, err
		}
	}
	if !good {
		if problems := s.explain(prepared.Input, spans); len(problems) > 0 {
			return Prepared{}, &predict.ValidationError{Problems: problems, Warnings: prepared.Warnings}
		}
	}
	if s.files {
		for i := range s.fields {
			f, at := &s.fields[i], spans[i]
			if f.node.hasURI && at.end != 0 {
				prepared.Files = f.node.collect(prepared.Files, prepared.Input[at.start:at.end], at.start, f.name)
			}
		}
		slices.SortFunc(prepared.Files, func(a, b File) int { return cmp.Compare(a.Start, b.Start) })
		prepared.Files = slices.CompactFunc(prepared.Files, func(a, b File) bool { return a.Start == b.Start })
	}
	return prepared, nil
}

// read finds the fields in input; the last of equal keys counts. changed means that members must be dropped. unknown is
// the keys without a field.
func (s *Schema) read(input []byte, lists rawjson.Lists, spans []span) (changed bool, unknown []string) {
	next := 0
	for r := rawjson.ObjectWith(input, lists); ; next++ {
		key, value, ok := r.Next()
		if !ok {
			return changed, unknown
		}
		if next = s.find(key, next); next < 0 && s.open {
			continue
		}
		if next < 0 {
			changed = true
			if len(unknown) < maxUnknown {
				if name := logtext.Clip(rawjson.KeyText(key)); !slices.Contains(unknown, name) {
					unknown = append(unknown, name)
				}
			}
			continue
		}
		changed = changed || spans[next].end != 0
		spans[next] = span{r.Offset(), r.Offset() + len(value)}
	}
}

// find returns the field with that key, or -1. It first tries the next field of the schema, because clients send fields
// in that order.
func (s *Schema) find(key []byte, next int) int {
	if next < len(s.fields) && string(key) == s.fields[next].name {
		return next
	}
	if bytes.IndexByte(key, '\\') >= 0 {
		key = rawjson.AppendText(nil, key)
	}
	for i := range s.fields {
		if string(key) == s.fields[i].name {
			return i
		}
	}
	return -1
}

// rewrite returns the input with the fields of spans, and others where they are open, in the client's order, and with
// null for absent ones. It moves spans to the result. The error is that of spill.
func (s *Schema) rewrite(input []byte, spans []span, spill Spill) ([]byte, error) {
	out := newRewritten(len(input)+16*len(s.fields)+2, spill)
	moved := make([]span, len(spans))
	put := func(i int, value []byte) {
		out.next()
		out.buf = rawjson.AppendQuoted(out.buf, s.fields[i].name)
		out.buf = append(out.buf, ':')
		moved[i].start = out.len()
		out.value(value)
		moved[i].end = out.len()
	}
	for r := rawjson.Object(input); ; {
		key, value, ok := r.Next()
		if !ok {
			break
		}
		switch i := s.find(key, 0); {
		case i >= 0 && spans[i].start == r.Offset():
			put(i, value)
		case i < 0 && s.open:
			out.next()
			out.buf = append(append(append(out.buf, '"'), key...), `":`...)
			out.value(value)
		}
	}
	for i := range s.fields {
		if s.fields[i].addNull && spans[i].end == 0 {
			put(i, []byte("null"))
		}
	}
	copy(spans, moved)
	return out.finish()
}

// explain lists the problems of input: values by field name, then missing fields.
func (s *Schema) explain(input []byte, spans []span) []predict.Problem {
	var values report
	rootDone := s.root == nil
	root := func() {
		rootDone = true
		values.secret = s.secrets
		s.root.explain(&values, "", input)
	}
	for _, i := range s.byName {
		f, at := &s.fields[i], spans[i]
		if !rootDone && f.name > rootField {
			root()
		}
		if at.end == 0 {
			continue
		}
		values.secret = f.node.hasSecret
		switch value := input[at.start:at.end]; {
		case !predict.HasTensor(value):
			f.node.explain(&values, f.name, value)
		case !f.node.takesTensors(value):
			values.addText(f.name, predict.TypeValue, msgNotFinite)
		}
	}
	if !rootDone {
		root()
	}
	problems := values.problems
	if values.more {
		problems = append(problems, problem(rootField, predict.TypeValue,
			"there are more problems; only the first are listed"))
	}
	for i := range s.fields {
		if s.fields[i].required && spans[i].end == 0 {
			problems = append(problems, problem(s.fields[i].name, predict.TypeMissing, missingText))
		}
	}
	return problems
}
