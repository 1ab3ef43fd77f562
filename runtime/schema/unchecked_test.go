package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// unchecked compiles a schema for the input x beside y, an integer, and returns the parts that are not checked. It checks
// that y still is.
func unchecked(t *testing.T, property string) (s *Schema, parts []string) {
	t.Helper()
	s, err := Compile(openapi(`{"properties":{"x":`+property+`,"y":{"type":"integer"}}}`, `"B":{"type":1}`), "Input")
	assert.NoError(t, err, property)
	_, err = s.Prepare([]byte(`{"y":"text"}`))
	assert.True(t, err != nil, "%s: y is not checked: got no error, want one", property)
	return s, s.Unchecked()
}

// TestUnchecked_PartsAreNamed checks that each part that cannot be used is named with its place and the reason.
func TestUnchecked_PartsAreNamed(t *testing.T) {
	for property, want := range map[string]string{
		`3`:                                 `: 3 is not a schema`,
		`{"type":"text"}`:                   `/type: unknown type "text"`,
		`{"type":3}`:                        `/type: 3 is not a list of names`,
		`{"enum":1}`:                        `/enum: 1 is not a list`,
		`{"minimum":"1"}`:                   `/minimum: "1" is not a number`,
		`{"minLength":-1}`:                  `/minLength: -1 is not a length`,
		`{"maxItems":1.5}`:                  `/maxItems: 1.5 is not a length`,
		`{"pattern":1}`:                     `/pattern: 1 is not a string`,
		`{"pattern":"("}`:                   `/pattern: compile pattern "("`,
		`{"allOf":{}}`:                      `/allOf: {} is not a list of schemas`,
		`{"anyOf":[]}`:                      `/anyOf: [] is not a list of schemas`,
		`{"anyOf":[{"type":1}]}`:            `/anyOf/0/type: 1`,
		`{"items":{"type":1}}`:              `/items/type: 1`,
		`{"properties":{"a":{"type":1}}}`:   `/properties/a/type: 1`,
		`{"additionalProperties":1}`:        `/additionalProperties: 1 is not a schema`,
		`{"required":{}}`:                   `/required: {} is not a list of names`,
		`{"$ref":"other.json"}`:             `: reference "other.json" leads to no component`,
		`{"$ref":"#/components/schemas/B"}`: `B/type: 1`,
		`{"multipleOf":"x"}`:                `/multipleOf: "x" is not a number above 0`,
		`{"multipleOf":0}`:                  `/multipleOf: 0 is not a number above 0`,
		`{"multipleOf":1e99999999}`:         `/multipleOf: 1e99999999 is not a number above 0`,
		`{"patternProperties":1}`:           `/patternProperties: 1 is not a map of schemas`,
		`{"patternProperties":{"(":{}}}`:    `/patternProperties: compile pattern "("`,
		`{"exclusiveMinimum":true}`:         `/exclusiveMinimum: true is not a number`,
		`{"prefixItems":[false]}`:           `/prefixItems/0: false is not a schema`,
		`{"properties":[]}`:                 `/properties: [] is not a map of schemas`,
		`{"oneOf":[1]}`:                     `/oneOf/0: 1 is not a schema`,
	} {
		if strings.HasPrefix(want, "/") || strings.HasPrefix(want, ":") {
			want = "Input/properties/x" + want
		}
		if _, parts := unchecked(t, property); len(parts) != 1 || !strings.HasPrefix(parts[0], want) {
			t.Errorf("%s: got %q, want one that begins with %q", property, parts, want)
		}
	}
	s := assert.Must(Compile(openapi(`{"required":"a","properties":{"x":{"type":"string"}},"not":{}}`), "Input"))(t)
	assert.EqualSlices(t, "unchecked", s.Unchecked(),
		[]string{`Input/required: "a" is not a list of names`, `Input/not: the keyword is not supported`})
}

// TestUnchecked_UnsupportedKeyword checks that no keyword of JSON Schema that restricts values is ignored in silence.
func TestUnchecked_UnsupportedKeyword(t *testing.T) {
	for _, keyword := range []string{
		"not", "if", "then", "else", "contains", "minContains", "maxContains", "dependentRequired", "dependentSchemas",
		"additionalItems", "dependencies", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
	} {
		_, parts := unchecked(t, `{"`+keyword+`":{}}`)
		assert.EqualSlices(t, keyword, parts, []string{"Input/properties/x/" + keyword + ": the keyword is not supported"})
	}
}

// TestUnchecked_AcceptsMore checks that a schema without a part refuses nothing that the whole one accepts, and that its
// other keywords still count.
func TestUnchecked_AcceptsMore(t *testing.T) {
	for _, c := range []struct{ property, valid, invalid string }{
		{`{"type":"string","not":{"const":"a"},"maxLength":3}`, `"a"`, `"long"`},
		{`{"maxLength":-1,"minLength":2}`, `"ab"`, `"a"`},
		{`{"type":"object","maxProperties":-1,"minProperties":1}`, `{"a":1}`, `{}`},
		{`{"type":"array","items":{"type":"string"},"prefixItems":{}}`, `[1]`, `1`},
		{`{"type":"array","items":{"type":"string"},"contains":{}}`, `["a"]`, `[1]`},
		{`{"type":"object","additionalProperties":false,"patternProperties":{"(":{}}}`, `{"a":1}`, `1`},
		{`{"type":"object","additionalProperties":false,"properties":1}`, `{"a":1}`, `1`},
		{`{"oneOf":[{"type":"object","not":{"required":["a"]}},{"type":"object","required":["a"]}]}`, `{"a":1}`, `1`},
		{`{"oneOf":[{"anyOf":[{"if":{}}]},{"type":"string"}]}`, `"a"`, ``},
		{`{"oneOf":[{"type":"string"},{"type":"string"}],"not":{}}`, ``, `"a"`},
		{`{"x-cog-secret":true,"type":"string","not":{"const":""}}`, `"a"`, `1`},
	} {
		s, parts := unchecked(t, c.property)
		assert.Equal(t, c.property+": unchecked parts", len(parts), 1)
		if c.valid != "" {
			_, err := s.Prepare([]byte(`{"x":` + c.valid + `}`))
			assert.NoError(t, err, c.property)
		}
		if c.invalid != "" {
			_, err := s.Prepare([]byte(`{"x":` + c.invalid + `}`))
			assert.True(t, err != nil, "%s accepts %s: got no error, want one", c.property, c.invalid)
		}
	}
	s, _ := unchecked(t, `{"x-cog-secret":true,"type":"string","not":{"const":""}}`)
	assert.Equal(t, "a secret", string(s.Redact([]byte(`{"x":"a"}`))), `{"x":"**********"}`)
}

// TestUnchecked_FewAreNamed: a hostile document does not fill the log.
func TestUnchecked_FewAreNamed(t *testing.T) {
	var list []string
	for i := range 2 * maxUnchecked {
		list = append(list, fmt.Sprintf(`"k%02d":{"not":{}}`, i))
	}
	_, parts := unchecked(t, `{"properties":{`+strings.Join(list, ",")+`}}`)
	assert.Equal(t, "named parts", len(parts), maxUnchecked)
	assert.True(t, slices.IsSorted(parts), "got %q, want it sorted", parts)
}

// TestUnchecked_Outputs checks that an output is checked by what is left of its schema.
func TestUnchecked_Outputs(t *testing.T) {
	o := assert.Must(CompileOutput(openapi(`{}`, `"Output":{"type":"string","not":{}}`), "Output"))(t)
	assert.EqualSlices(t, "unchecked", o.Unchecked(), []string{"Output/not: the keyword is not supported"})
	assert.Equal(t, "a string", o.Check([]byte(`"a"`)), "")
	assert.True(t, o.Check([]byte(`1`)) != "", "got a number accepted, want it refused")
}
