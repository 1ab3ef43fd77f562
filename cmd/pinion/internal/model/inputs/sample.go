package inputs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pinion/runtime/rawjson"
)

// Sample returns the model's own example. Where it gives none, one is made of the schema: for each input an example,
// else a value of the type. Inputs that have a default are left out, because the server has it. A file cannot be made
// up.
func (f *Fields) Sample() ([]byte, error) {
	if f.example != nil {
		return f.example, nil
	}
	required := map[string]bool{}
	for _, name := range f.required {
		required[name] = true
	}
	input := []byte{'{'}
	var unknown []string
	for _, name := range f.Order {
		s := f.resolve(f.named[name])
		if !required[name] {
			continue
		}
		value, ok := f.sampleOf(s, 0)
		if own := f.named[name].example(); own != nil {
			value, ok = own, true
		}
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		input = rawjson.Comma(input, len(input) > 1)
		input = append(rawjson.AppendQuoted(input, name), ':')
		input = append(input, value...)
	}
	input = append(input, '}')
	if len(unknown) > 0 {
		return nil, fmt.Errorf("cannot make a sample value for %s: give the input by -i or --json",
			strings.Join(unknown, ", "))
	}
	if err := f.check(input, false); err != nil {
		return nil, errors.Join(errors.New("the sample input is not valid: give one by -i or --json"), err)
	}
	return input, nil
}

// example returns one that a schema gives; nil if it has none.
func (s *shape) example() []byte {
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Example != nil:
		return s.Example
	case s.Default != nil:
		return s.Default
	}
	return nil
}

// sampleOf makes a value; false if it cannot.
func (f *Fields) sampleOf(s *shape, depth int) ([]byte, bool) {
	s = f.resolve(s)
	switch {
	case s.example() != nil:
		return s.example(), true
	case len(s.Enum) > 0:
		return s.Enum[0], true
	case len(s.AnyOf) > 0 && depth < 10:
		for _, option := range s.AnyOf {
			if value, ok := f.sampleOf(option, depth+1); ok {
				return value, true
			}
		}
		return nil, false
	case s.isFile():
		return nil, false
	}
	switch s.Type {
	case "string":
		text := "sample"
		for len(text) < s.MinLength {
			text += " sample"
		}
		if s.MaxLength != nil && len(text) > *s.MaxLength {
			text = text[:*s.MaxLength]
		}
		return rawjson.AppendQuoted(nil, text), true
	case "integer", "number":
		switch {
		case s.Minimum != nil:
			return []byte(s.Minimum.String()), true
		case s.Maximum != nil:
			return []byte(s.Maximum.String()), true
		}
		return []byte("1"), true
	case "boolean":
		return []byte("true"), true
	case "array":
		return []byte("[]"), true
	case "object":
		return f.sampleObject(s, depth)
	}
	return []byte(`"sample"`), true
}

func (f *Fields) sampleObject(s *shape, depth int) ([]byte, bool) {
	members := map[string]json.RawMessage{}
	for _, name := range s.Required {
		value, ok := f.sampleOf(s.Properties[name], depth+1)
		if !ok || depth > 10 {
			return nil, false
		}
		members[name] = value
	}
	object, err := json.Marshal(members)
	return object, err == nil
}
