package schema

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

const outputs = `{"openapi": "3.0.2", "components": {"schemas": {
	"Text": {"type": "string"},
	"File": {"type": "string", "format": "uri"},
	"Numbers": {"type": "array", "items": {"type": "number"}},
	"Items": {"type": "array", "items": {"type": "string"}, "x-cog-array-type": "iterator"},
	"Maybe": {"type": "integer", "nullable": true},
	"Any": {"title": "Any"},
	"Point": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}, "label": {"type": "string"}}},
	"Named": {"$ref": "#/components/schemas/Point"}
}}}`

func TestOutput_Faults(t *testing.T) {
	for _, c := range []struct{ component, output, want string }{
		{"Text", `"a"`, ""},
		{"Text", `null`, `output: null is not of type "string"`},
		{"Text", `5`, `output: a number is not of type "string"`},
		{"File", `"out.png"`, ""},
		{"File", `true`, `output: a boolean is not of type "string"`},
		{"Numbers", `[1,2.5]`, ""},
		{"Numbers", `[1,"secret"]`, `output/1: a string is not of type "number"`},
		{"Maybe", `null`, ""},
		{"Maybe", `1.0`, ""},
		{"Maybe", `1.5`, `output: a number is not of type "integer"`},
		{"Any", `{"a":[null]}`, ""},
		{"Point", `{"x":1,"more":2}`, ""},
		{"Point", `{"label":"a"}`, `output/x: Field required`},
		{"Named", `{"x":[]}`, `output/x: an array is not of type "number"`},
	} {
		o := assert.Must(CompileOutput([]byte(outputs), c.component))(t)
		assert.Equal(t, fmt.Sprintf("%s %s", c.component, c.output), o.Check([]byte(c.output)), c.want)
	}
}

func TestOutput_ItemsOfOutput(t *testing.T) {
	o, err := CompileOutput([]byte(outputs), "Items")
	assert.NoError(t, err)
	got := o.CheckItem(0, []byte(`"a"`))
	assert.True(t, got == "", "got %q, want none", got)
	assert.Equal(t, "CheckItem", o.CheckItem(7, []byte(`{}`)), `output/7: an object is not of type "string"`)
	_, err = CompileOutput([]byte(outputs), "Nope")
	assert.True(t, err != nil, "a component that is not there compiles")
}
