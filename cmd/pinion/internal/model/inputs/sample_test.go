package inputs

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestSample_ModelsOwnExampleIsItsSample(t *testing.T) {
	f := assert.Must(ReadFields([]byte(`{"openapi":"3.0.2","components":{"schemas":{
		"Input":{"type":"object","properties":{"file":{"type":"string","format":"uri"}},"required":["file"],
			"example":{"file":"data:,text"}},
		"Output":{"type":"string"}}}}`), false))(t)
	if input, err := f.Sample(); err != nil || string(input) != `{"file":"data:,text"}` {
		t.Errorf("it is %s, %v, want %q", input, err, `{"file":"data:,text"}`)
	}
}

// TestSamples_FitTheirSchema: the sample that is made for an input, or the input for which none can be made.
func TestSamples_FitTheirSchema(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"text", `{"type":"string"}`, `{"x":"sample"}`},
		{"long text", `{"type":"string","minLength":9}`, `{"x":"sample sample"}`},
		{"short text", `{"type":"string","maxLength":3}`, `{"x":"sam"}`},
		{"example", `{"type":"string","examples":["a cat","a dog"]}`, `{"x":"a cat"}`},
		{"choices", `{"allOf":[{"$ref":"#/components/schemas/Size"}]}`, `{"x":"s"}`},
		{"bounded", `{"type":"integer","minimum":3,"maximum":9}`, `{"x":3}`},
		{"at most", `{"type":"number","maximum":-0.5}`, `{"x":-0.5}`},
		{"flag", `{"type":"boolean"}`, `{"x":true}`},
		{"list", `{"type":"array","items":{"type":"string","format":"uri"}}`, `{"x":[]}`},
		{"object", `{"$ref":"#/components/schemas/Point"}`, `{"x":{"left":1,"name":"sample"}}`},
		{"either", `{"anyOf":[{"type":"string","format":"uri"},{"type":"integer"}]}`, `{"x":1}`},
		{"file", `{"type":"string","format":"uri"}`, "cannot make a sample value for x: give the input by -i or --json"},
		{"pattern", `{"type":"string","pattern":"^[0-9]+$"}`, "the sample input is not valid: give one by -i or --json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			document := `{"openapi":"3.0.2","components":{"schemas":{
				"Input":{"type":"object","properties":{"x":` + c.schema +
				`,"given":{"type":"integer","default":1}},"required":["x"]},
				"Size":{"enum":["s","m"],"type":"string"},
				"Point":{"type":"object","properties":{"left":{"type":"integer"},"name":{"type":"string"}},"required":["left","name"]},
				"Output":{"type":"string"}}}}`
			f := assert.Must(ReadFields([]byte(document), false))(t)
			input, err := f.Sample()
			got := string(input)
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			assert.Equal(t, "sample", got, c.want)
		})
	}
}
