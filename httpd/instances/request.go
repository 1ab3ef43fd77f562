package instances

import (
	"slices"
	"strings"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// Name and Parameters are the members of a request.
const (
	Name       = "instances"
	Parameters = "parameters"
)

// Read returns the inputs of each instance of a request. names are what the list may be called. The result may alias body.
func Read(s *protocol.Signature, body []byte, names ...string) ([][]byte, *protocol.Error) {
	if err := rawjson.Check(body); err != nil {
		return nil, protocol.ErrorOf(err)
	}
	if kind := rawjson.KindOf(body); kind != rawjson.KindObject {
		return nil, bad("the body is %s; send an object with %s", article(kind), strings.Join(names, " or "))
	}
	var list []byte
	var fill parameters
	members := rawjson.Object(body)
	for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
		switch name := rawjson.KeyText(key); {
		case slices.Contains(names, name):
			list = value
		case name == Parameters && rawjson.KindOf(value) == rawjson.KindObject:
			fill = readParameters(value)
		case name == Parameters && rawjson.KindOf(value) != rawjson.KindNull:
			return nil, bad("parameters is %s; it is an object", article(rawjson.KindOf(value)))
		}
	}
	switch {
	case list == nil:
		return nil, bad("the body has no %s: send a list of them", strings.Join(names, " or "))
	case rawjson.KindOf(list) != rawjson.KindArray:
		return nil, bad("%s is %s; it is a list", names[0], article(rawjson.KindOf(list)))
	}
	only := onlyRequired(s)
	var inputs [][]byte
	items := rawjson.Array(list)
	for item, ok := items.Next(); ok; item, ok = items.Next() {
		input, err := inputOf(s, only, item)
		if err != nil {
			err.Row = len(inputs)
			return nil, err
		}
		if inputs = append(inputs, fill.into(input)); len(inputs) > protocol.MaxRows {
			return nil, bad("the request has more than %d instances", protocol.MaxRows)
		}
	}
	return inputs, nil
}

// inputOf returns the inputs of an instance.
func inputOf(s *protocol.Signature, only *protocol.Field, item []byte) ([]byte, *protocol.Error) {
	if rawjson.KindOf(item) == rawjson.KindObject {
		return item, nil
	}
	if only == nil {
		return nil, bad("it is %s, which goes to the only required input, and the model has %d: send an object with the inputs by name",
			article(rawjson.KindOf(item)), len(s.Required()))
	}
	out := append(rawjson.AppendQuoted([]byte{'{'}, only.Name), ':')
	return append(append(out, item...), '}'), nil
}

// onlyRequired returns the only required input, or else the only input; nil: there are several.
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
type parameters []parameter

type parameter struct {
	name  string
	value []byte
}

func readParameters(object []byte) (all parameters) {
	members := rawjson.Object(object)
	for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
		name := rawjson.KeyText(key)
		all = slices.DeleteFunc(all, func(p parameter) bool { return p.name == name }) // the last of equal names counts
		all = append(all, parameter{name, value})
	}
	return all
}

// into returns an instance's inputs, with those parameters that it does not have.
func (all parameters) into(input []byte) []byte {
	if len(all) == 0 {
		return input
	}
	has := map[string]bool{}
	members := rawjson.Object(input)
	for key, _, ok := members.Next(); ok; key, _, ok = members.Next() {
		has[rawjson.KeyText(key)] = true
	}
	out := append([]byte(nil), input[:len(input)-1]...) // without its brace
	empty := len(has) == 0
	for _, p := range all {
		if has[p.name] {
			continue
		}
		if !empty {
			out = append(out, ',')
		}
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
