package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// FuzzPrepare gives hostile inputs to a schema that has everything, and holds what Prepare
// promises of any of them.
func FuzzPrepare(f *testing.F) {
	doc := openapi(`{"type":"object","required":["n","p"],"properties":{`+
		`"n":{"type":"integer","minimum":-5,"maximum":5000},"p":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[^x]"},`+
		`"o":{"type":"number","nullable":true},"s":{"allOf":[{"$ref":"#/components/schemas/size"}],"default":"s"},`+
		`"l":{"type":"array","items":{"type":"string","format":"uri"},"maxItems":3},"k":{"type":"string","x-cog-secret":true},`+
		`"u":{"anyOf":[{"type":"integer"},{"allOf":[{"$ref":"#/components/schemas/Point"}]}]},"t":{"$ref":"#/components/schemas/Tree"},`+
		`"m":{"type":"number","multipleOf":0.5},"f":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":200},`+
		`"w":{"type":"array","items":{"type":"integer"}},"g":{"type":"array","items":{"type":"number","minimum":0}},`+
		`"e":{"type":"array","items":{"type":"number"},"enum":[[1,2]]},"v":{"type":"string"},"y":{"type":"array"}}}`,
		components...)
	s := mustCompile(f, doc)
	floats, wholes := "["+strings.Repeat("-0.5,", 99)+"1]", "["+strings.Repeat("12,", 150)+"1]"
	for _, seed := range []string{
		`{"n":1,"p":"a"}`, `{"n":1.0,"p":"a","o":null,"s":"m","l":["data:,x","http://a/"],"k":"SECRET","u":{"x":1,"y":2}}`,
		`{"n":1,"n":2,"p":"\u0061","zz":[1,2]}`, `{"t":{"value":1,"children":[{"value":2}]},"m":1e999999}`, `{}`, `[]`,
		`{"k":["SECRET"],"u":{"x":1,"x":2}}`,
		`{"n":1,"p":"a","f":` + floats + `,"w":` + wholes + `,"y":` + floats + `}`,
		`{"n":1,"p":"a","f":` + wholes + `,"w":` + floats + `}`,
		`{"n":1,"p":"a","g":` + floats + `}`, `{"n":1,"p":"a","e":` + wholes + `}`, `{"n":1,"p":"a","v":` + wholes + `}`,
		`{"n":1,"p":"a","f":[` + wholes + `,` + wholes + `]}`, `{"n":1,"p":"a","f":1,"f":` + wholes + `,"zz":` + wholes + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) { checkPrepare(t, s, input, "k") })
}

// checkPrepare holds what is true of Prepare and Redact for any input. The field secret, where
// there is one, is all that s hides.
func checkPrepare(t *testing.T, s *Schema, input []byte, secret string) {
	var object map[string]json.RawMessage
	if !isObject(input, &object) {
		return
	}
	p, err := s.Prepare(input)
	checkPrepareWith(t, s, input, p, err)
	var hidden map[string]json.RawMessage
	if !isObject(s.Redact(input), &hidden) || len(hidden) != len(object) {
		t.Fatalf("Redact(%s) = %s, want isObject(s.Redact(input), &hidden) true and len(hidden) %d", input, s.Redact(input),
			len(object))
	}
	for key, value := range hidden {
		want := string(object[key])
		if key == secret && want != "null" {
			want = secretShown
		}
		if secret != "" && string(value) != want {
			t.Fatalf("Redact(%s) = %s: got %.300q, want %q", input, s.Redact(input), string(value), want)
		}
	}
	if err != nil {
		invalid, ok := errors.AsType[*predict.ValidationError](err)
		assert.TrueNow(t, ok, "Prepare(%s): got %v, want a ValidationError", input, err)
		for _, problem := range invalid.Problems {
			assert.TrueNow(t, len(problem.Loc) == 3 && problem.Msg != "",
				"Prepare(%s): problem %v, want len(Loc) 3 and Msg non-empty", input, problem)
		}
		return
	}
	var prepared map[string]json.RawMessage
	assert.TrueNow(t, isObject(p.Input, &prepared), "Prepare(%s) = %s, want isObject(p.Input, &prepared) true", input, p.Input)
	for key, value := range prepared {
		if was, ok := object[key]; ok && string(was) != string(value) || !ok && string(value) != "null" {
			t.Fatalf("Prepare(%s) = %s: %s became %s, want it kept or null", input, p.Input, key, value)
		}
	}
	for _, file := range p.Files {
		var text string
		err := json.Unmarshal(p.Input[file.Start:file.End], &text)
		assert.TrueNow(t, err == nil && text == file.URL, "Prepare(%s): file %+v: got %.300q, want %q", input, file, text, file.URL)
	}
	// A prepared input does not change when it is prepared again.
	again, err := s.Prepare(p.Input)
	if err != nil || string(again.Input) != string(p.Input) || len(again.Unknown) > 0 || len(again.Files) != len(p.Files) {
		t.Fatalf("Prepare(%s) = %s, then %s (%v), want the same", input, p.Input, again.Input, err)
	}
}

// checkPrepareWith checks that an input of which lists are known comes to the same.
func checkPrepareWith(t *testing.T, s *Schema, input []byte, want Prepared, wantErr error) {
	t.Helper()
	lists, err := rawjson.CheckLists(input)
	if err != nil {
		return // encoding/json is less strict
	}
	got, err := s.PrepareWith(input, lists, nil)
	assert.TrueNow(t, reflect.DeepEqual(got, want) && reflect.DeepEqual(err, wantErr),
		"PrepareWith(%s) = %s, %v; Prepare %s, %v, want %+v and err %v", input, got.Input, err, want.Input, wantErr, want, wantErr)
	spill := func() Spill { return &buffer{} }
	if got, err := s.PrepareWith(input, lists, spill); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(err, wantErr) {
		t.Fatalf("PrepareWith(%s), spilled = %s, %v; Prepare %s, %v, want %+v and err %v", input, got.Input, err, want.Input,
			wantErr, want, wantErr)
	}
}

// buffer is a Spill in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Bytes() ([]byte, error) { return b.Buffer.Bytes(), nil }

// FuzzCompile gives hostile schemas: each must compile to a schema that validates, or be refused.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"type":["string","null"],"pattern":"^a","minLength":1}`, `{"oneOf":[{"const":1},true,{"enum":[[1]]}],"x-order":0}`,
		`{"properties":{"a":{"$ref":"#/components/schemas/Tree"}},"required":["a","b"],"additionalProperties":false}`,
		`{"items":{"format":"uri"},"prefixItems":[true,{"multipleOf":1e5}],"uniqueItems":true}`,
		`{"oneOf":[{"x-cog-secret":true},{"nullable":true}],"propertyNames":{"const":"a"},"exclusiveMinimum":1e400}`,
		`{"allOf":[{"$ref":"#/components/schemas/Input"}]}`, `{"anyOf":[{"type":"null"}],"default":null}`,
	} {
		f.Add([]byte(seed), []byte(`{"x":[{"a":{"value":1}},"a",1.5,null]}`))
	}
	f.Fuzz(func(t *testing.T, property, input []byte) {
		if !json.Valid(property) {
			return
		}
		s, err := Compile(openapi(`{"properties":{"x":`+string(property)+`}}`, components...), "Input")
		if err == nil {
			checkPrepare(t, s, input, "")
		}
	})
}
