package schema

import (
	"testing"

	"pinion/tests/assert"
)

// TestEmpty_Files checks that an empty text for a file is null where the schema takes null, absent where the field may
// be that, and refused elsewhere.
func TestEmpty_Files(t *testing.T) {
	const file, files = `"type":"string","format":"uri"`, `"type":"array","items":{"type":"string","format":"uri"}`
	for _, test := range []struct{ property, required, input, want string }{
		{`{` + file + `,"nullable":true}`, "", `{"x":""}`, `{"x":null}`},
		{`{` + file + `,"nullable":true,"default":null}`, "", `{"x":""}`, `{"x":null}`},
		{`{` + file + `,"nullable":true,"default":"https://e.org/a"}`, "", `{"x":""}`, `{"x":null}`},
		{`{` + file + `,"nullable":true}`, `"x"`, `{"x":""}`, `{"x":null}`},
		{`{` + file + `}`, `"x"`, `{"x":""}`, ""},
		{`{` + file + `}`, "", `{"x":""}`, `{}`},
		{`{` + file + `}`, "", `{"n":1,"x":"data:,a","x":""}`, `{"n":1}`},
		{`{` + file + `,"default":"https://e.org/a"}`, "", `{"x":""}`, ""},
		{`{` + file + `,"nullable":true}`, "", `{"x":" "}`, ""},
		{`{"allOf":[{` + file + `}],"nullable":true}`, "", `{"x":""}`, `{"x":null}`},
		{`{"anyOf":[{` + file + `},{"type":"null"}]}`, "", `{"x":""}`, `{"x":null}`},
		{`{"anyOf":[{` + file + `},{"type":"string"}]}`, "", `{"x":""}`, `{"x":""}`},
		{`{` + files + `,"nullable":true}`, "", `{"x":""}`, `{"x":null}`},
		{`{` + files + `,"nullable":true}`, "", `{"x":[ "" ]}`, `{"x":null}`},
		{`{` + files + `,"nullable":true}`, "", `{"x":[]}`, `{"x":[]}`},
		{`{` + files + `,"nullable":true}`, "", `{"x":["","data:,a"]}`, ""},
		{`{` + files + `}`, `"x"`, `{"x":[""]}`, ""},
		{`{` + files + `}`, `"x"`, `{"x":""}`, ""},
		{`{` + files + `}`, "", `{"x":[""]}`, `{}`},
		{`{"type":"array","items":{` + file + `,"nullable":true}}`, `"x"`, `{"x":["","data:,a"]}`, `{"x":[null,"data:,a"]}`},
		{`{"type":"string","nullable":true}`, "", `{"x":""}`, `{"x":""}`},
	} {
		s := mustCompile(t, openapi(`{"properties":{"x":`+test.property+`,"n":{"type":"integer"}},"required":[`+test.required+
			`]}`))
		p, problems := prepare(t, s, test.input)
		switch {
		case test.want == "" && problems == nil:
			t.Errorf("%s: Prepare(%s) = %s, want it refused", test.property, test.input, p.Input)
		case test.want != "" && problems != nil:
			t.Errorf("%s: Prepare(%s): %v", test.property, test.input, problems)
		case test.want != "" && string(p.Input) != test.want:
			t.Errorf("%s: Prepare(%s) = %s, want %s", test.property, test.input, p.Input, test.want)
		}
	}
}

// TestEmpty_FileBesideFault checks that the message is about the fault alone.
func TestEmpty_FileBesideFault(t *testing.T) {
	s := mustCompile(t, openapi(`{"properties":{"x":{"type":"string","format":"uri","nullable":true},"n":{"type":"integer"}}}`))
	_, problems := prepare(t, s, `{"x":"","n":"a","u":1}`)
	assert.EqualNow(t, "problems: number of problems", len(problems), 1)
	assert.Equal(t, "problems: place of the first", problems[0].Loc[2], "n")
}
