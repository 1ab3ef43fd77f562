package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/schema"
)

// CompareSchemas says how the inputs and outputs of a stored document differ from those of one made from the source: a
// sentence for each difference, at most maxDifferences of them.
func CompareSchemas(stored, made []byte) []string {
	c := &comparison{}
	if !c.stored.read(stored) || !c.made.read(made) {
		return nil // the user of the document reports what is wrong with it
	}
	for _, part := range []struct{ component, noun string }{
		{"Input", "input"},
		{"Output", "the output"},
		{"TrainingInput", "training input"},
		{"TrainingOutput", "the training's output"},
	} {
		s, inStored := c.stored[part.component]
		m, inMade := c.made[part.component]
		switch {
		case inStored != inMade:
			c.only(part.noun, inStored)
		case inStored && strings.HasSuffix(part.component, "Input"):
			c.members(part.noun+" ", "", s, m, 0)
		case inStored:
			c.schema(part.noun, "", s, m, 0)
		}
	}
	if n := len(c.found); n > maxDifferences {
		c.found = append(c.found[:maxDifferences], fmt.Sprintf("and %d more", n-maxDifferences))
	}
	return c.found
}

const (
	maxDifferences = 10
	deepestSchema  = 10 // schemas may refer to themselves
	longestValue   = 60 // bytes of a value that are shown
)

// comparison compares two documents.
type comparison struct {
	stored, made components
	found        []string
}

// components are the schemas of a document by name.
type components map[string]any

func (c *components) read(document []byte) bool {
	d, err := schema.ReadDocument[any](document)
	*c = d.Schemas
	return err == nil && *c != nil
}

// plain returns a schema without references and without keywords that do not restrict values.
func (c components) plain(schema any) map[string]any {
	out := map[string]any{}
	s, _ := schema.(map[string]any)
	for range deepestSchema {
		inner := s["$ref"]
		if list, ok := s["allOf"].([]any); ok && len(list) == 1 {
			inner = list[0]
		}
		for key, value := range s {
			if _, is := out[key]; !is && key != "$ref" && key != "allOf" {
				out[key] = value // what stands beside a reference counts first
			}
		}
		name, isName := inner.(string)
		next, isSchema := inner.(map[string]any)
		if isName {
			next, isSchema = c[name[strings.LastIndexByte(name, '/')+1:]].(map[string]any)
		}
		if !isSchema {
			break
		}
		s = next
	}
	delete(out, "title")
	delete(out, "x-order")
	if text, ok := out["description"].(string); ok && text == "An enumeration." {
		delete(out, "description") // that of the type, made by its name
	}
	if value, ok := out["default"]; ok && value == nil {
		delete(out, "default") // older Cog does not write it
	}
	for _, key := range []string{"nullable", "deprecated"} {
		if out[key] == false {
			delete(out, key)
		}
	}
	return out
}

// only notes what only one of the documents has.
func (c *comparison) only(what string, inStored bool) {
	where := "the source"
	if inStored {
		where = "the file"
	}
	c.found = append(c.found, fmt.Sprintf("%s is in %s alone", what, where))
}

// members compares the properties of two objects; noun stands before the name of each, prefix is within its quotes.
func (c *comparison) members(noun, prefix string, stored, made any, depth int) {
	s, m := c.stored.plain(stored), c.made.plain(made)
	sp, _ := s["properties"].(map[string]any)
	mp, _ := m["properties"].(map[string]any)
	for _, name := range sortedKeys(sp, mp) {
		what := fmt.Sprintf("%s%q", noun, prefix+name)
		stored, inStored := sp[name]
		other, inMade := mp[name]
		if inStored != inMade {
			c.only(what, inStored)
			continue
		}
		if was, is := isRequired(s, name), isRequired(m, name); was != is {
			c.found = append(c.found, fmt.Sprintf("%s is %s in the file and %s in the source", what, necessity(was),
				necessity(is)))
		}
		c.schema(what, prefix+name, stored, other, depth)
	}
}

// schema compares the schemas of two values.
func (c *comparison) schema(what, path string, stored, made any, depth int) {
	if depth > deepestSchema {
		return
	}
	s, m := c.stored.plain(stored), c.made.plain(made)
	for _, key := range sortedKeys(s, m) {
		stored, inStored := s[key]
		other, inMade := m[key]
		switch {
		case key == "properties" || key == "required":
		case key == "items" && inStored && inMade:
			c.schema("an item of "+what, path, stored, other, depth+1)
		case key == "anyOf" && sameLength(stored, other):
			for i, option := range stored.([]any) {
				c.schema(what, path, option, other.([]any)[i], depth+1)
			}
		case inStored != inMade:
			if inMade {
				stored = other
			}
			c.only(fmt.Sprintf("%s of %s (%s)", key, what, shown(stored)), inStored)
		case !reflect.DeepEqual(withFloats(stored), withFloats(other)):
			c.found = append(c.found, fmt.Sprintf("%s of %s is %s in the file and %s in the source", key, what, shown(stored),
				shown(other)))
		}
	}
	if s["properties"] != nil || m["properties"] != nil {
		c.members("the member ", strings.TrimPrefix(path+".", "."), stored, made, depth+1)
	}
}

func sameLength(a, b any) bool {
	before, ok := a.([]any)
	other, is := b.([]any)
	return ok && is && len(before) == len(other)
}

// withFloats returns a JSON value whose numbers can be compared: 1 is 1.0.
func withFloats(value any) any {
	switch v := value.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withFloats(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = withFloats(item)
		}
		return out
	}
	return value
}

func isRequired(object map[string]any, name string) bool {
	list, _ := object["required"].([]any)
	return slices.Contains(list, any(name))
}

func necessity(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

func sortedKeys(a, b map[string]any) []string {
	merged := map[string]any{}
	maps.Copy(merged, a)
	maps.Copy(merged, b)
	return slices.Sorted(maps.Keys(merged))
}

// shown returns a value as JSON, cut where it is long.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return logtext.ClipTo(text, longestValue)
}
