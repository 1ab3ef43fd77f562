package schema

import (
	"fmt"

	"pinion/runtime/rawjson"
)

// Output is the compiled output schema, from a model's return annotation. Like a Schema it never changes.
type Output struct {
	whole *node
	item  *node // an iterator's items; nil means not an iterator, or any items

	unchecked []string
}

// outputField names the output in messages; its parts follow after a slash.
const outputField = "output"

// CompileOutput compiles the output component ("Output", "TrainingOutput") of a model's OpenAPI document. A file is a
// string: a URL or a mark.
func CompileOutput(openapi []byte, component string) (*Output, error) {
	d, err := readDocument(openapi)
	if err != nil {
		return nil, err
	}
	o, err := d.compileOutput(component)
	if err != nil {
		return nil, fmt.Errorf("compile schema of %s: %w", component, err)
	}
	return o, nil
}

func (d *document) compileOutput(component string) (*Output, error) {
	m, err := d.inputComponent(component)
	if err != nil {
		return nil, err
	}
	o := &Output{}
	o.whole = d.compileAt(component, m)
	o.unchecked = d.unchecked
	nodes, endless := mark([]*node{o.whole})
	if endless {
		return nil, fmt.Errorf("a schema contains itself")
	}
	for _, n := range nodes {
		n.format = anyFormat
	}
	if m["x-cog-array-type"] == "iterator" {
		o.item = o.whole.items
	}
	return o, nil
}

// Unchecked is as of a Schema.
func (o *Output) Unchecked() []string { return o.unchecked }

// Check returns the first problem of an output, or "".
func (o *Output) Check(output []byte) string {
	if o.whole.valid(output) {
		return ""
	}
	return o.whole.fault(outputField, output)
}

// CheckItem is Check for an item that an iterator yielded.
func (o *Output) CheckItem(index int, item []byte) string {
	if o.item == nil || o.item.valid(item) {
		return ""
	}
	return o.item.fault(fmt.Sprintf("%s/%d", outputField, index), item)
}

// fault returns the first problem of a value. It shows the kind and not the value, because it is logged too.
func (n *node) fault(field string, raw []byte) string {
	r := report{kinds: true}
	n.explain(&r, field, raw)
	if len(r.problems) == 0 {
		return ""
	}
	p := r.problems[0]
	return p.Loc[len(p.Loc)-1] + ": " + p.Msg
}

// kindText returns the kind of a value, for a message that must not show the value.
func kindText(raw []byte) string {
	switch kind := rawjson.KindOf(raw); kind {
	case rawjson.KindNull:
		return "null"
	case rawjson.KindBool:
		return "a boolean"
	case rawjson.KindArray, rawjson.KindObject:
		return "an " + kind.String()
	default:
		return "a " + kind.String()
	}
}
