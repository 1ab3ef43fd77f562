package protocol

import (
	"testing"

	"pinion/tests/assert"
)

const document = `{"components":{"schemas":{
	"Choice":{"enum":["a","b"],"type":"string"},
	"Input":{"type":"object","required":["text","file"],"properties":{
		"x":{"type":"array","items":{"type":"array","items":{"type":"number"}},"x-order":2,"x-pinion-dtype":"float32"},
		"text":{"type":"string","x-order":0},
		"file":{"type":"string","format":"uri","x-order":1},
		"which":{"allOf":[{"$ref":"#/components/schemas/Choice"}],"default":"a","x-order":3}}},
	"Output":{"type":"array","items":{"type":"string"},"x-cog-array-type":"iterator","x-cog-array-display":"concatenate"}}}}`

// TestSignature_ReadSignature reads kinds and their order.
func TestSignature_ReadSignature(t *testing.T) {
	s, err := ReadSignature([]byte(document))
	assert.NoError(t, err)
	kinds := map[string]ValueKind{"text": Text, "file": File, "x": Array, "which": Text}
	for i, name := range []string{"text", "file", "x", "which"} {
		if f := s.Inputs[i]; f.Name != name || f.Value.Kind != kinds[name] {
			t.Errorf("input %d is %s of kind %d, want %s of kind %d", i, f.Name, f.Value.Kind, name, kinds[name])
		}
	}
	x := s.Input("x").Value
	assert.True(t, x.Dtype == "float32" && x.Rank == 2, "x has dtype %q and rank %d, want float32 and 2", x.Dtype, x.Rank)
	required := s.Required()
	assert.True(t, len(required) == 2 && s.Input("none") == nil, "required: %v, want len(required) 2 and none nil", required)
	assert.True(t, s.Iterator && s.Concatenate && s.Output.Kind == Text,
		"output: %+v, want Iterator true, Concatenate true and Kind %d", s, Text)
	_, err = ReadSignature([]byte(`{}`))
	assert.True(t, err != nil, "a document without schemas is read")
}

// TestSignature_RecursiveSchemas: reading a schema that contains itself ends.
func TestSignature_RecursiveSchemas(t *testing.T) {
	for _, text := range []string{
		`{"components":{"schemas":{"Input":{"properties":{"x":{"$ref":"#/components/schemas/A"}}},"Output":{"type":"string"},"A":{"$ref":"#/components/schemas/A"}}}}`,
		`{"components":{"schemas":{"Input":{"properties":{"x":{"$ref":"#/components/schemas/A"}}},"Output":{"type":"string"},"A":{"type":"array","items":{"$ref":"#/components/schemas/A"}}}}}`,
	} {
		_, err := ReadSignature([]byte(text))
		assert.True(t, err == nil, "%s: got %v, want that it is read", text, err)
	}
}
