package schema

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

func TestRedact_Secrets(t *testing.T) {
	const secret = `{"type":"string","format":"password","writeOnly":true,"x-cog-secret":true}`
	for _, test := range []struct{ property, value, want string }{
		{secret, `"hunter2"`, `"**********"`},
		{secret, `null`, `null`},
		{secret, `["wrong","type"]`, `"**********"`},
		{`{"type":"string"}`, `"plain"`, `"plain"`},
		{`{"type":"string","format":"password"}`, `"a"`, `"**********"`},
		{`{"type":"string","x-cog-secret":true}`, `"a"`, `"**********"`},
		{`{"type":"array","items":` + secret + `}`, `[ "a" ,null, "b"]`, `[ "**********" ,null, "**********"]`},
		{`{"type":"array","items":` + secret + `}`, `"a"`, `"**********"`},
		{
			`{"type":"object","properties":{"k":` + secret + `,"p":{}}}`, `{"p":"a","k":"b","q":"c"}`,
			`{"p":"a","k":"**********","q":"c"}`,
		},
		{`{"type":"object","additionalProperties":` + secret + `}`, `{"p":"a"}`, `{"p":"**********"}`},
		{`{"allOf":[` + secret + `]}`, `"a"`, `"**********"`},
		{`{"allOf":[{"items":` + secret + `}]}`, `["a"]`, `["**********"]`},
		{`{"allOf":[{"items":` + secret + `},{"items":` + secret + `}]}`, `["a"]`, `"**********"`},
		{`{"allOf":[{"properties":{"a":` + secret + `}}],"properties":{"b":` + secret + `}}`, `{"b":"x"}`, `"**********"`},
		{
			`{"properties":{"a":` + secret + `,"b":` + secret + `}}`, `{"b":"x","a":"y"}`, `{"b":"**********","a":"**********"}`,
		},
		{`{"anyOf":[` + secret + `,{"type":"integer"}]}`, `5`, `"**********"`},
		{`{"oneOf":[` + secret + `]}`, `"a"`, `"**********"`},
		{`{"prefixItems":[{"$ref":"#/components/schemas/Key"}]}`, `["a"]`, `"**********"`},
		{`{"type":"array","uniqueItems":true,"items":` + secret + `}`, `["a"]`, `["**********"]`},
	} {
		s := mustCompile(t, openapi(`{"properties":{"x":`+test.property+`,"y":{}}}`, `"Key":`+secret))
		input := `{ "y":"seen", "x": ` + test.value + ` ,"x":` + test.value + `}`
		want := `{ "y":"seen", "x": ` + test.want + ` ,"x":` + test.want + `}`
		assert.Equal(t, fmt.Sprintf("%s: Redact(%s)", test.property, input), string(s.Redact([]byte(input))), want)
	}
	s := mustCompile(t, openapi(`{"properties":{"x":`+secret+`}}`))
	input := []byte(`{"y":1}`)
	assert.Equal(t, "Redact of what holds no secret", &s.Redact(input)[0], &input[0])
}
