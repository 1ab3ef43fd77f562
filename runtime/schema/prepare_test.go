package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// isObject reports whether b is a strict JSON object, and reads it as the standard library does.
func isObject(b []byte, into any) bool {
	return rawjson.Check(b) == nil && rawjson.KindOf(b) == rawjson.KindObject && json.Unmarshal(b, into) == nil
}

// TestPrepare_KeepsInput checks that a valid input is passed on, not copied.
func TestPrepare_KeepsInput(t *testing.T) {
	s := mustCompile(t, openapi(`{"properties":{"a":{"type":"integer"},"f":{"type":"string","format":"uri"}}}`))
	for _, text := range []string{`{"a":1}`, `{}`, ` { "f" : "data:,x" , "a" : 1 } `} {
		input := []byte(text)
		p := assert.Must(s.Prepare(input))(t)
		assert.True(t, &p.Input[0] == &input[0] && len(p.Input) == len(input), "Prepare(%s) copied its input, want the same bytes", text)
	}
	p := assert.Must(s.Prepare(nil))(t)
	assert.Equal(t, "input", string(p.Input), "{}")
}

func TestPrepare_NoObject(t *testing.T) {
	s := mustCompile(t, openapi(`{}`))
	for _, input := range []string{`[]`, `null`, `"x"`, `1`} {
		_, problems := prepare(t, s, input)
		want := []predict.Problem{{
			Loc: []string{"body", "input", "__root__"}, Msg: input + ` is not of type "object"`, Type: "value_error",
		}}
		assert.True(t, reflect.DeepEqual(problems, want), "Prepare(%s): %v, want %v", input, problems, want)
	}
}

// TestPrepare_Offsets checks that files stand where File says after keys were dropped and added.
func TestPrepare_Offsets(t *testing.T) {
	s := mustCompile(t, openapi(`{"properties":{
		"a":{"type":"array","items":{"type":"string","format":"uri"},"x-order":0},
		"b":{"type":"string","format":"uri","x-order":1},
		"n":{"type":"integer","nullable":true,"x-order":2}}}`))
	p, _ := prepare(t, s, ` {"b":"data:,0","x":{"y":["data:,no"]},"b" : "data:,1", "a":[ "data:,2" , "data:,\u00e9" ],"z":1}`)
	assert.Equal(t, "Input", string(p.Input), `{"b":"data:,1","a":[ "data:,2" , "data:,\u00e9" ],"n":null}`)
	var got []string
	for _, f := range p.Files {
		got = append(got, fmt.Sprintf("%s %s %s", f.Field, f.URL, p.Input[f.Start:f.End]))
	}
	want := []string{`b data:,1 "data:,1"`, `a/0 data:,2 "data:,2"`, `a/1 data:,é "data:,\u00e9"`}
	assert.True(t, reflect.DeepEqual(got, want), "Files = %q, want %q", got, want)
	assert.True(t, reflect.DeepEqual(p.Unknown, []string{"x", "z"}), "Unknown = %q, want [x z]", p.Unknown)
}

// TestPrepare_Many uses more fields than Prepare has room for on the stack, and more unknown keys
// than it reports.
func TestPrepare_Many(t *testing.T) {
	var properties, input []string
	for i := range 3 * inlineFields {
		properties = append(properties, fmt.Sprintf(`"f%d":{"type":"integer","x-order":%d}`, i, i))
		input = append(input, fmt.Sprintf(`"f%d":%d`, 3*inlineFields-1-i, i))
	}
	s := mustCompile(t, openapi(`{"properties":{`+strings.Join(properties, ",")+`},"required":["f70","f3"]}`))
	if _, problems := prepare(t, s, "{"+strings.Join(input, ",")+"}"); problems != nil {
		t.Errorf("got %v, want nil", problems)
	}
	_, problems := prepare(t, s, `{}`)
	assert.True(t, len(problems) == 2 && problems[0].Loc[2] == "f3" && problems[1].Loc[2] == "f70",
		"got %v, want len(problems) 2, problems[0].Loc[2] f3 and problems[1].Loc[2] f70", problems)
	unknown := input
	for i := range 2 * maxUnknown {
		unknown = append(unknown, fmt.Sprintf(`"u%d":0`, i), fmt.Sprintf(`"u%d":0`, i))
	}
	p, _ := prepare(t, s, "{"+strings.Join(unknown, ",")+"}")
	assert.True(t, len(p.Unknown) == maxUnknown && p.Unknown[0] == "u0" && p.Unknown[1] == "u1",
		"Unknown = %q, want len(Unknown) %d, Unknown[0] u0 and Unknown[1] u1", p.Unknown, maxUnknown)
}

func TestPrepare_CompileErrors(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{`{`, "read OpenAPI document"},
		{`{} {}`, "data after the document"},
		{`{"components":{"schemas":{"Output":{}}}}`, "compile schema of Input: the document has no such component"},
		{`{"components":{"schemas":{"Input":3}}}`, "not an object"},
		{`{"components":{"schemas":{"Input":{"$ref":"#/components/schemas/Input"}}}}`, "contains itself"},
		{`{"components":{"schemas":{"Input":{"$ref":"#/nowhere"}}}}`, `reference "#/nowhere" leads to no component`},
	} {
		_, err := Compile([]byte(test.doc), "Input")
		assert.True(t, err != nil && strings.Contains(err.Error(), test.want), "Compile(%s) = %v, want %q", test.doc, err, test.want)
	}
	for _, name := range []string{"C", "D"} {
		doc := openapi(`{"properties":{"x":{"$ref":"#/components/schemas/`+name+`"}}}`,
			`"C":{"allOf":[{"$ref":"#/components/schemas/C"}]}`,
			`"D":{"anyOf":[{"type":"string"},{"$ref":"#/components/schemas/C"}]}`)
		if _, err := Compile(doc, "Input"); err == nil || !strings.Contains(err.Error(), "a schema contains itself") {
			t.Errorf("Compile with %s = %v, want %q", name, err, "a schema contains itself")
		}
	}
}

// TestPrepare_ModernReference checks that what stands beside a reference counts in OpenAPI 3.1 alone.
func TestPrepare_ModernReference(t *testing.T) {
	const doc = `{"openapi":%q,"components":{"schemas":{"Base":{"type":"string"},"Input":{"$ref":"#/components/schemas/Real"},` +
		`"Real":{"properties":{"x":{"$ref":"#/components/schemas/Base","minLength":2},"y":{"$ref":"#/components/schemas/Base","minLength":2,"pattern":"[^z]"}}}}}}`
	for version, want := range map[string]int{"3.0.2": 0, "3.1.0": 3} {
		s := mustCompile(t, fmt.Appendf(nil, doc, version))
		_, problems := prepare(t, s, `{"x":"a","y":"a"}`)
		_, more := prepare(t, s, `{"y":"zz"}`)
		assert.True(t, len(problems)+len(more) == want, "%s: %v %v, want %d", version, problems, more, want)
	}
}

func TestPrepare_Order(t *testing.T) {
	for doc, want := range map[string]string{
		`{"properties":{"a":{"x-order":2},"b":{"x-order":0},"c":{"x-order":10}},"required":["a","b","c"]}`: "b a c",
		`{"properties":{"a":{},"b":{},"c":{}},"required":["c","a"]}`:                                       "c a",
		`{"properties":{"a":{}},"required":["zz","a"]}`:                                                    "zz a",
	} {
		_, problems := prepare(t, mustCompile(t, openapi(doc)), `{}`)
		var got []string
		for _, p := range problems {
			got = append(got, p.Loc[2])
		}
		assert.True(t, strings.Join(got, " ") == want, "%s: %v, want %s", doc, got, want)
	}
}

// TestPrepare_Concurrent is for the race detector: a schema may be used by many at once.
func TestPrepare_Concurrent(t *testing.T) {
	s := mustCompile(t, openapi(`{"properties":{"a":{"type":"string","pattern":"(?=a)a"},"b":{"oneOf":[{"type":"integer"},{"type":"null"}]}}}`))
	done := make(chan error)
	for range 8 {
		go func() {
			for range 50 {
				if _, err := s.Prepare([]byte(`{"a":"a","b":1}`)); err != nil {
					done <- err
					return
				}
				var invalid *predict.ValidationError
				if _, err := s.Prepare([]byte(`{"a":"b","b":"c"}`)); !errors.As(err, &invalid) || len(invalid.Problems) != 2 {
					done <- fmt.Errorf("%w", err)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		assert.Equal(t, "error", <-done, nil)
	}
}

// TestPrepare_LargeValuesSpill: a large value goes to the spill as it is, and the spill's error is returned.
func TestPrepare_LargeValuesSpill(t *testing.T) {
	s := mustCompile(t, openapi(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","nullable":true},"f":{"type":"string","format":"uri","nullable":true}}}`))
	large := `"` + strings.Repeat("x", spillFrom) + `"`
	input := []byte(`{"unknown":1,"a":` + large + `,"f":""}`)
	want := assert.Must(s.Prepare(input))(t)
	got, err := s.PrepareWith(input, rawjson.Lists{}, func() Spill { return &buffer{} })
	assert.True(t, err == nil && reflect.DeepEqual(got, want) && bytes.Contains(got.Input, []byte(large)),
		"%d bytes, %v; in memory it has %d, want %+v and Input with %q", len(got.Input), err, len(want.Input), want, []byte(large))
	_, err = s.PrepareWith(input, rawjson.Lists{}, func() Spill { return fullSpill{} })
	assert.ErrorIs(t, "a full disk", err, io.ErrShortWrite)
}

type fullSpill struct{}

func (fullSpill) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
func (fullSpill) Bytes() ([]byte, error)    { return nil, nil }
