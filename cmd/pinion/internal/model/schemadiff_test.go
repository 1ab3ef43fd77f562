package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// schemasOf returns a document with these schemas.
func schemasOf(schemas string) []byte {
	return []byte(`{"components": {"schemas": {` + schemas + `}}}`)
}

func inputOf(properties, required string) string {
	return fmt.Sprintf(`"Input": {"title": "Input", "type": "object", "properties": {%s}, "required": [%s]}`, properties,
		required)
}

func TestSchemadiff_CompareSchemas(t *testing.T) {
	const size = `"Size": {"title": "Size", "description": "An enumeration.", "type": "string", "enum": ["s", "m"]}`
	cases := []struct {
		name         string
		stored, made string
		want         []string
	}{
		{"the same", inputOf(`"n": {"type": "integer"}`, `"n"`), inputOf(`"n": {"type": "integer"}`, `"n"`), nil},
		{
			"titles, orders, numbers, falsehoods",
			inputOf(`"n": {"title": "A", "x-order": 1, "default": 1.0, "nullable": false}`, ``),
			inputOf(`"n": {"title": "B", "default": 1}`, ``), nil,
		},
		{
			"other inputs", inputOf(`"a": {}, "b": {}`, ``), inputOf(`"b": {}, "c": {}`, ``),
			[]string{`input "a" is in the file alone`, `input "c" is in the source alone`},
		},
		{
			"keys", inputOf(`"a": {"type": "integer", "default": 20, "maximum": 5}`, ``),
			inputOf(`"a": {"type": "number", "default": 25, "minimum": 0}`, ``),
			[]string{
				`default of input "a" is 20 in the file and 25 in the source`,
				`maximum of input "a" (5) is in the file alone`,
				`minimum of input "a" (0) is in the source alone`,
				`type of input "a" is "integer" in the file and "number" in the source`,
			},
		},
		{
			"required", inputOf(`"a": {}`, `"a"`), inputOf(`"a": {}`, ``),
			[]string{`input "a" is required in the file and optional in the source`},
		},
		{
			"references", inputOf(`"a": {"allOf": [{"$ref": "#/components/schemas/Size"}], "default": "s"}`, ``) + "," + size,
			inputOf(`"a": {"$ref": "#/components/schemas/Size2", "default": "s"}`, ``) + "," +
				strings.ReplaceAll(size, "Size", "Size2"), nil,
		},
		{
			"choices", inputOf(`"a": {"allOf": [{"$ref": "#/components/schemas/Size"}]}`, ``) + "," + size,
			inputOf(`"a": {"type": "string", "enum": ["s", "m", "l"]}`, ``),
			[]string{`enum of input "a" is ["s","m"] in the file and ["s","m","l"] in the source`},
		},
		{
			"lists and options", inputOf(
				`"a": {"type": "array", "items": {"type": "string"}}, "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]}`,
				``),
			inputOf(`"a": {"type": "array", "items": {"type": "integer"}}, "b": {"anyOf": [{"type": "string"}, {"type": "number"}]}`, ``),
			[]string{
				`type of an item of input "a" is "string" in the file and "integer" in the source`,
				`type of input "b" is "integer" in the file and "number" in the source`,
			},
		},
		{
			"output", `"Output": {"type": "string"}`, `"Output": {"type": "string", "format": "uri"}`,
			[]string{`format of the output ("uri") is in the source alone`},
		},
		{
			"members", `"Output": {"type": "object", "properties": {"box": {"type": "object", "properties": {"x": {"type": "integer"}}}}}`,
			`"Output": {"type": "object", "properties": {"box": {"type": "object", "properties": {"x": {"type": "number"}, "y": {}}}}}`,
			[]string{
				`type of the member "box.x" is "integer" in the file and "number" in the source`,
				`the member "box.y" is in the source alone`,
			},
		},
		{
			"a train function", inputOf(``, ``), inputOf(``, ``) + `, "TrainingInput": {}, "TrainingOutput": {}`,
			[]string{"training input is in the source alone", "the training's output is in the source alone"},
		},
		{
			"a schema of itself", `"Output": {"$ref": "#/components/schemas/Node"}, "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}`,
			`"Output": {"$ref": "#/components/schemas/Node"}, "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}`, nil,
		},
		{
			"a reference to itself", `"Output": {"$ref": "#/components/schemas/Output"}`, `"Output": {"type": "string"}`,
			[]string{`type of the output ("string") is in the source alone`},
		},
		{"no document", `"Input": 3`, `"Input": []`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := CompareSchemas(schemasOf(c.stored), schemasOf(c.made))
			assert.True(t, slices.Equal(got, c.want), "got %q\nwant %q", got, c.want)
		})
	}
	var many []string
	for i := range 15 {
		many = append(many, fmt.Sprintf(`"i%02d": {}`, i))
	}
	got := CompareSchemas(schemasOf(inputOf("", "")), schemasOf(inputOf(strings.Join(many, ","), "")))
	assert.EqualNow(t, "length", len(got), 11)
	assert.Equal(t, "eleventh", got[10], "and 5 more")
}
