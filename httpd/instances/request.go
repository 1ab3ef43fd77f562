package instances

import (
	"slices"
	"strings"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Name and Parameters are the members of a request.
const (
	Name       = "instances"
	Parameters = "parameters"
)

// Read returns the call of a request, without its body, which inputs may alias. names are the keys that the list of
// instances may have. charge charges the bytes of copies before they are made.
func Read(
	s *protocol.Signature, body []byte, charge func(bytes int64) *protocol.Error, names ...string,
) (call protocol.Call, err *protocol.Error) {
	if err := rawjson.Check(body); err != nil {
		return call, protocol.ErrorOf(err)
	}
	list, fill, unknown, err := members(body, names)
	if err != nil {
		return call, err
	}
	r := &reader{only: onlyRequired(s), required: len(s.Required()), fill: fill}
	copied, err := r.measure(list)
	if err != nil {
		return call, err
	}
	if copied > protocol.FewBytes {
		if err := charge(copied); err != nil {
			return call, err
		}
	}
	call = protocol.Call{Rows: true, Copied: copied, UnknownKeys: unknown}
	for _, item := range rawjson.Items(list) {
		call.Inputs = append(call.Inputs, r.input(item))
	}
	return call, nil
}

// ignored is the key by which TensorFlow Serving's clients choose a function of the model. Here a model has one.
const ignored = "signature_name"

// members returns the list of instances of a request, its parameters and its unknown keys.
func members(body []byte, names []string) (
	list []byte, fill parameters, unknown *predict.UnknownKeys, err *protocol.Error,
) {
	if kind := rawjson.KindOf(body); kind != rawjson.KindObject {
		return nil, fill, nil, bad("the body is %s: must be an object with %s", article(kind), strings.Join(names, " or "))
	}
	called := "" // what the list is called
	for key, value := range rawjson.Members(body) {
		if rawjson.KindOf(value) == rawjson.KindNull { // clients that write each field send it for an absent one
			continue
		}
		switch name := rawjson.Name(key); {
		case slices.Contains(names, name) && called != "" && called != name:
			return nil, fill, nil, bad("the body has both %s: send one of them", strings.Join(names, " and "))
		case slices.Contains(names, name):
			list, called = value, name
		case name == Parameters && rawjson.KindOf(value) == rawjson.KindObject:
			if fill, err = readParameters(value); err != nil {
				return nil, fill, nil, err
			}
		case name == Parameters:
			return nil, fill, nil, bad("parameters is %s: must be an object", article(rawjson.KindOf(value)))
		case name != ignored:
			if unknown == nil {
				unknown = &predict.UnknownKeys{Known: append([]string{Parameters}, names...), Place: Parameters}
			}
			unknown.Add(key)
		}
	}
	switch {
	case list == nil:
		return nil, fill, nil, bad("missing %s: send a list of them", strings.Join(names, " or "))
	case rawjson.KindOf(list) != rawjson.KindArray:
		return nil, fill, nil, bad("%s is %s: must be a list", called, article(rawjson.KindOf(list)))
	}
	return list, fill, unknown, nil
}

// reader makes inputs of instances.
type reader struct {
	only     *protocol.Field // the input for an instance that is not an object; nil means there are several
	required int             // how many inputs are
	fill     parameters
}

// measure checks the instances, and returns how many bytes of copies their inputs take.
func (r *reader) measure(list []byte) (copied int64, err *protocol.Error) {
	n := 0
	for _, item := range rawjson.Items(list) {
		named := rawjson.KindOf(item) == rawjson.KindObject
		if !named && r.only == nil {
			err := bad("it is %s, which goes to the only required input, and the model has %d: send an object with the inputs by name",
				article(rawjson.KindOf(item)), r.required)
			err.Row = n
			return 0, err
		}
		if n++; n > protocol.MaxRows {
			return 0, bad("the request has more than %d instances", protocol.MaxRows)
		}
		if !named {
			copied += int64(len(r.only.Name)+len(item)) + int64(r.fill.size)
		} else if r.fill.size > 0 {
			copied += int64(len(item)) + int64(r.fill.size)
		}
	}
	return copied, nil
}

// input returns the inputs of an instance.
func (r *reader) input(item []byte) []byte {
	if rawjson.KindOf(item) == rawjson.KindObject {
		return r.fill.into(item)
	}
	out := make([]byte, 0, len(`{"":}`)+len(r.only.Name)+len(item)+r.fill.size)
	out = append(rawjson.AppendQuoted(append(out, '{'), r.only.Name), ':')
	return r.fill.into(append(append(out, item...), '}'))
}

// onlyRequired returns the only required input, or else the only input, or nil if there are several.
func onlyRequired(s *protocol.Signature) *protocol.Field {
	if required := s.Required(); len(required) == 1 {
		return required[0]
	}
	if len(s.Inputs) == 1 {
		return &s.Inputs[0]
	}
	return nil
}

// parameters are inputs that fill those of all instances.
type parameters struct {
	list  []parameter
	index map[string]int // in list, by name
	size  int            // bytes of all as members of an object
}

type parameter struct {
	name  string
	value []byte
}

// maxParameters is how many parameters a request may have.
const maxParameters = 500

func readParameters(object []byte) (read parameters, err *protocol.Error) {
	read.index = map[string]int{}
	for key, value := range rawjson.Members(object) {
		name := rawjson.Name(key)
		if i, twice := read.index[name]; twice { // the last one counts
			read.list[i].value = value
			continue
		}
		if len(read.list) == maxParameters {
			return read, bad("parameters has more than %d members", maxParameters)
		}
		read.index[name] = len(read.list)
		read.list = append(read.list, parameter{name, value})
	}
	for _, p := range read.list {
		read.size += len(`,"":`) + rawjson.QuotedLen([]byte(p.name)) + len(p.value)
	}
	return read, nil
}

// into returns an instance's inputs, with those parameters that it does not have.
func (ps *parameters) into(input []byte) []byte {
	if len(ps.list) == 0 {
		return input
	}
	has := make([]bool, len(ps.list))
	empty := true
	for key := range rawjson.Members(input) {
		empty = false
		if i, ok := ps.index[rawjson.Name(key)]; ok {
			has[i] = true
		}
	}
	out := append(make([]byte, 0, len(input)+ps.size), input[:len(input)-1]...) // without its brace
	for i, p := range ps.list {
		if has[i] {
			continue
		}
		out = rawjson.Comma(out, !empty)
		empty = false
		out = append(append(rawjson.AppendQuoted(out, p.name), ':'), p.value...)
	}
	return append(out, '}')
}

func bad(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.BadInput, format, args...)
}

// article names a kind in a sentence.
func article(kind rawjson.Kind) string {
	switch kind {
	case rawjson.KindNull:
		return "null"
	case rawjson.KindArray, rawjson.KindObject:
		return "an " + kind.String()
	default:
		return "a " + kind.String()
	}
}
