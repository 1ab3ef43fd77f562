package instances

import (
	"fmt"
	"strings"
	"testing"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// manyMembers are the members of a JSON object, of different names.
var manyMembers = func() string {
	list := make([]string, maxParameters+1)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	return strings.Join(list, ",")
}()

// TestRequest_CopiesAreCharged before they are made, and none is if that fails.
func TestRequest_CopiesAreCharged(t *testing.T) {
	text := strings.Repeat("t", 100_000)
	for _, c := range []struct {
		body   string
		copied int
	}{
		{`{"instances":["` + text + `","` + text + `"]}`, 2 * len(text)},
		{`{"instances":[{"x":"` + text + `"}]}`, 0},
		{`{"instances":[{},{},{}],"parameters":{"k":"` + text + `"}}`, 3 * len(text)},
		{`{"instances":[{},7],"parameters":{"k":"` + text + `","k":1}}`, 0},
	} {
		charged := int64(0)
		call, err := Read(signature("x"), []byte(c.body), func(bytes int64) *protocol.Error {
			charged += bytes
			return nil
		}, Name)
		if err != nil || charged < int64(c.copied) || charged > int64(c.copied+1000) ||
			charged > 0 && charged != call.Copied {
			t.Errorf("%.60s: %v with %d bytes charged and %d copied, want %d", c.body, err, charged, call.Copied, c.copied)
		}
		length := 0
		for _, input := range call.Inputs {
			length += len(input)
		}
		if c.copied > 0 && length > int(charged)+100*len(call.Inputs) {
			t.Errorf("%.60s: the inputs have %d bytes, and %d were charged, want at most %d", c.body, length, charged,
				int(charged)+100*len(call.Inputs))
		}
		refused := protocol.Errorf(protocol.Waited, "no room")
		call, err = Read(signature("x"), []byte(c.body), func(int64) *protocol.Error { return refused }, Name)
		assert.False(t, c.copied > 0 && (err != refused || call.Inputs != nil),
			"%.60s: %v with %d inputs, want err %+v and Inputs nil", c.body, err, len(call.Inputs), refused)
	}
}

func signature(required ...string) *protocol.Signature {
	s := &protocol.Signature{}
	for _, name := range required {
		s.Inputs = append(s.Inputs, protocol.Field{Name: name, Required: true})
	}
	s.Inputs = append(s.Inputs, protocol.Field{Name: "k"})
	return s
}

func TestRequest_Read(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"instances":[1,"a",[2],null]}`, `{"x":1} {"x":"a"} {"x":[2]} {"x":null}`},
		{`{"instances":[{"x":1}, { } ]}`, `{"x":1} { }`},
		{`{"inputs":[1]}`, `{"x":1}`},
		{
			`{"parameters":{"k":2,"j":[1]},"instances":[1,{},{"k":3}]}`,
			`{"x":1,"k":2,"j":[1]} {"k":2,"j":[1]} {"k":3,"j":[1]}`,
		},
		{`{"parameters":{"k":2,"k":3},"instances":[{"\u006b":1},2]}`, `{"\u006b":1} {"x":2,"k":3}`},
		{`{"parameters":null,"instances":[]}`, ``},
	} {
		call, err := Read(signature("x"), []byte(c.body), nil, Name, "inputs")
		if err != nil {
			t.Errorf("%s: %v, want nil", c.body, err)
			continue
		}
		var got []string
		for _, in := range call.Inputs {
			got = append(got, string(in))
		}
		assert.True(t, strings.Join(got, " ") == c.want, "%s: %s, want %s", c.body, got, c.want)
	}
}

func TestRead_NotesUnknownKeys(t *testing.T) {
	for body, want := range map[string]string{
		`{"instances":[1],"parameters":{},"signature_name":"serving_default","inputs":null}`: "",
		`{"instances":[1],"scale":2,"parametrs":{},"scale":3,"\u0061":1}`:                    "scale parametrs a",
	} {
		call, err := Read(signature("x"), []byte(body), nil, Name, "inputs")
		got := ""
		if call.UnknownKeys != nil {
			got = strings.Join(call.UnknownKeys.Names, " ")
		}
		assert.True(t, err == nil && got == want, "%s: got %q, %v, want %q", body, got, err, want)
	}
}

func TestRequest_Refusals(t *testing.T) {
	for _, c := range []struct {
		body, want string
		row        int
	}{
		{``, "invalid JSON", -1},
		{`[1]`, "the body is an array", -1},
		{`{}`, "missing instances", -1},
		{`{"inputs":[1]}`, "missing instances", -1},
		{`{"instances":{}}`, "instances is an object: must be a list", -1},
		{`{"instances":[1],"parameters":[]}`, "parameters is an array: must be an object", -1},
		{`{"instances":[{},7]}`, "it is a number, which goes to the only required input, and the model has 2", 1},
		{`{"instances":[` + strings.Repeat("{},", protocol.MaxRows) + `{}]}`, "more than 16384 instances", -1},
		{`{"parameters":{` + manyMembers + `},"instances":[{}]}`, "parameters has more than 500 members", -1},
	} {
		_, err := Read(signature("x", "y"), []byte(c.body), nil, Name)
		if err == nil || err.Kind != protocol.BadInput || !strings.Contains(err.Message, c.want) || err.Row != c.row {
			t.Errorf("%.40s: %+v, want %q, row %d", c.body, err, c.want, c.row)
		}
	}
}

// TestRequest_EitherName: the list has one of two names. null stands for an absent one.
func TestRequest_EitherName(t *testing.T) {
	for body, want := range map[string]string{
		`{"inputs":[1],"instances":[1]}`:    "the body has both instances and inputs: send one of them",
		`{"inputs":{}}`:                     "inputs is an object: must be a list",
		`{"inputs":null}`:                   "missing instances or inputs",
		`{"instances":[1],"inputs":null}`:   "",
		`{"instances":[1],"instances":[2]}`: "",
	} {
		_, err := Read(signature("x"), []byte(body), nil, Name, "inputs")
		assert.True(t, (err == nil) == (want == "") && (err == nil || strings.HasPrefix(err.Message, want)),
			"%s: %+v, want %q", body, err, want)
	}
}

// FuzzRead: what is read is one object for each instance.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"instances":[1,{"x":2}],"parameters":{"k":1}}`))
	f.Add([]byte(`{"parameters":{"a":1,"a":2},"instances":[ { } , [ ] ]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		call, err := Read(signature("x"), body, func(int64) *protocol.Error { return nil }, Name)
		if err != nil {
			return
		}
		for _, in := range call.Inputs {
			assert.TrueNow(t, rawjson.Check(in) == nil && rawjson.KindOf(in) == rawjson.KindObject,
				"%q: the input %q, want %v", body, in, rawjson.KindObject)
		}
	})
}
