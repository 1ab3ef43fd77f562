package schema

import (
	"encoding/json"
	"testing"

	"pinion/tests/assert"
)

// TestPrepare_OpenInputsPass: where a document allows members that are not fields, they pass in place.
func TestPrepare_OpenInputsPass(t *testing.T) {
	document := func(extra string) []byte {
		return []byte(`{"components":{"schemas":{"Input":{"type":"object",` + extra +
			`"properties":{"a":{"type":"integer"},"n":{"type":"string","nullable":true}}}}}}`)
	}
	for _, c := range []struct{ extra, input, want string }{
		{
			`"additionalProperties":true,`, `{"x":[1,{"y":null}],"a":1,"\u00e9\"":2}`,
			`{"x":[1,{"y":null}],"a":1,"é\"":2,"n":null}`,
		},
		{`"additionalProperties":true,`, `{"a":1,"x":1,"a":2,"n":"s"}`, `{"x":1,"a":2,"n":"s"}`},
		{`"additionalProperties":true,`, `{}`, `{"n":null}`},
		{`"additionalProperties":{},`, `{"x":1,"a":1}`, `{"a":1,"n":null}`},
		{``, `{"x":1,"a":1}`, `{"a":1,"n":null}`},
	} {
		s := assert.Must(Compile(document(c.extra), "Input"))(t)
		got, err := s.Prepare([]byte(c.input))
		var have, want any
		if err != nil || json.Unmarshal(got.Input, &have) != nil || json.Unmarshal([]byte(c.want), &want) != nil {
			t.Fatalf("%s %s: got %s, %v, want no error", c.extra, c.input, got.Input, err)
		}
		haveText, _ := json.Marshal(have)
		wantText, _ := json.Marshal(want)
		if string(haveText) != string(wantText) ||
			(len(got.Unknown) > 0) != (c.extra != `"additionalProperties":true,` && len(c.input) > 10) {
			t.Errorf("%s %s: got %s, unknown %q, want %s", c.extra, c.input, got.Input, got.Unknown, c.want)
		}
	}
	s, _ := Compile(document(`"additionalProperties":true,`), "Input")
	_, err := s.Prepare([]byte(`{"a":"x","b":1}`))
	assert.True(t, err != nil, "no error for a field of a wrong type")
}
