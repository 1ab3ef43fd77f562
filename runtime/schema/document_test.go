package schema

import (
	"testing"

	"pinion/tests/assert"
)

func TestReadDocument_ReturnsWhatCouldBeRead(t *testing.T) {
	type property struct {
		Type string `json:"type"`
	}
	const schemas = `"components":{"schemas":{"Input":{"type":"object"},"Output":{"type":5}}}`
	for document, want := range map[string]struct {
		valid     bool
		input     string
		operation Operation
	}{
		`{"openapi":"3.0.2","components":{"schemas":{"Input":{"type":"object"}}}}`: {valid: true, input: "object"},
		`{` + schemas + `}`:                    {input: "object"},
		`{` + schemas + `,"paths":[]} trailer`: {input: "object"},
		`{"paths":{"/":[],"/predictions":{"post":{"x-cog-openai":"chat","x-cog-streaming":true}}}}`: {
			valid: true, operation: Operation{OpenAI: "chat", Streaming: true},
		},
		`{"paths":{"/predictions":{"post":{"x-cog-openai":1,"x-cog-streaming":true}}}}`: {
			valid: true, operation: Operation{Streaming: true},
		},
		`{} {}`: {},
		``:      {},
		`null`:  {valid: true},
	} {
		d, err := ReadDocument[property](([]byte)(document))
		assert.True(t, (err == nil) == want.valid, "the error of %s is %v, want none: %v", document, err, want.valid)
		assert.Equal(t, "the type of Input of "+document, d.Schemas["Input"].Type, want.input)
		got, _ := d.Predict()
		assert.True(t, got == want.operation, "the operation of %s is %+v, want %+v", document, got, want.operation)
	}
}

func TestReadDocument_PathsFailAlone(t *testing.T) {
	d, err := ReadDocument[any]([]byte(`{"paths":[],"components":{"schemas":{"Input":{}}}}`))
	assert.TrueNow(t, err == nil && d.Schemas["Input"] != nil, "schemas are %v with error %v, want Input without one", d.Schemas, err)
	_, err = d.Predict()
	assert.True(t, err != nil, "the operation of a list of paths has no error, want one")
}
