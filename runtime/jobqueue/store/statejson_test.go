package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/rawjson"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// fullState has every member.
func fullState() state.State {
	return state.State{
		Version: 1, Job: "T", Status: state.Processing, Attempt: 2, Lost: 1, Server: "é\"\\\n<&>\u2028", Claim: "C", Seq: 1<<64 - 1,
		Cancel: true, Kind: state.Training, Deadline: -9, Hook: &state.Hook{URL: "u", Propagation: trace.Propagation{RequestID: "q"}},
		Yielded: true, ModelVersion: "2", Digest: []byte{0, 255, 7}, Prediction: json.RawMessage(`{"id":"p1","input":{"n":[1,2]}}`),
	}
}

// plainState has the members of State without its methods, so that package json reads and writes it.
type plainState state.State

func TestState_JSONIsThatOfPackageJSON(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]state.State{
		"full": fullState(), "empty": {}, "first": {Version: 1, Job: "T", Status: state.Starting, Prediction: json.RawMessage(`{}`)},
	} {
		text, err := want.MarshalJSON()
		assert.NoError(t, err)
		var byPackage plainState
		if err := json.Unmarshal(text, &byPackage); err != nil || rawjson.Check(text) != nil {
			t.Errorf("%s: got %s, %v, want JSON of a state", name, text, err)
		}
		plain := assert.Must(json.Marshal((*plainState)(&want)))(t)
		var got state.State
		err = json.Unmarshal(plain, &got)
		assert.True(t, err == nil, "%s: got %v, want that it is read", name, err)
		if want.Prediction == nil { // both write null
			want.Prediction = json.RawMessage(`null`)
		}
		assert.True(t, reflect.DeepEqual(state.State(byPackage), want) && reflect.DeepEqual(got, want),
			"%s:\ngot  %+v\nand  %+v\nwant %+v", name, byPackage, got, want)
	}
}

func TestState_ReadsWhatOtherWritersMayWrite(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", rawjson.MaxDepth) + strings.Repeat("]", rawjson.MaxDepth)
	for text, want := range map[string]state.State{
		" {\n\"\\u0073tatus\" : \"\\u0073tarting\" , \"seq\":7,\"prediction\": {\"a\": 1}}\n": {
			Status: state.Starting, Seq: 7, Prediction: json.RawMessage(`{"a": 1}`),
		},
		`{"job":"T","prediction":` + deep + `}`: {Job: "T", Prediction: json.RawMessage(deep)},
		`{"\u006eew":1,"cancel":false}`:         {Unknown: map[string]json.RawMessage{"new": json.RawMessage(`1`)}},
	} {
		var got state.State
		err := got.UnmarshalJSON([]byte(text))
		assert.True(t, err == nil && reflect.DeepEqual(got, want), "%s: got %+v, %v, want %+v", text, got, err, want)
	}
}

func TestState_RefusesOtherTypes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `null`, `[]`, `"x"`, `7`, `{`, `{}x`, `{"v":1,}`, `{"v":"1"}`, `{"v":1.5}`, `{"job":7}`, `{"status":{}}`, `{"seq":-1}`,
		`{"seq":18446744073709551616}`, `{"cancel":"yes"}`, `{"yielded":1}`, `{"hook":"u"}`, `{"digest":"!"}`, `{"kind":1}`, `{"version":2}`,
		`{"deadline":"soon"}`, `{"attempt":null}`, "\xff\xfe\x00", "{\"job\":\"\x01\"}",
	} {
		var s state.State
		err := s.UnmarshalJSON([]byte(text))
		assert.True(t, err != nil, "%q: got %+v, want an error", text, s)
	}
}

// FuzzState_ReadAndWritten: a text that is read as a state is written as one that is read the same.
func FuzzState_ReadAndWritten(f *testing.F) {
	full := fullState()
	text := assert.Must(full.MarshalJSON())(f)
	f.Add(text)
	f.Add([]byte(`{"\u0076":1,"new":[{}],"prediction":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, second state.State
		if first.UnmarshalJSON(text) != nil {
			return
		}
		written, err := first.MarshalJSON()
		assert.TrueNow(t, err == nil && json.Valid(written), "got %q, %v, want JSON", written, err)
		err = second.UnmarshalJSON(written)
		assert.TrueNow(t, err == nil, "got %v of %q, want that it is read", err, written)
		if first.Prediction == nil {
			first.Prediction = json.RawMessage(`null`)
		}
		if len(first.Digest) == 0 {
			first.Digest = nil
		}
		assert.TrueNow(t, reflect.DeepEqual(first, second), "got %+v, want %+v", second, first)
	})
}
