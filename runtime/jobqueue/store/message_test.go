package store_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// TestMessage_StoredBytes: servers of different versions share what is stored, so its bytes do not change by accident.
func TestMessage_StoredBytes(t *testing.T) {
	t.Parallel()
	j := state.Job{
		ID: "p1", Kind: state.Prediction, Class: state.High, Tenant: "a b", Body: []byte(`{"input":{}}`), ContentType: "application/json",
		Schema:   "r1",
		Deadline: time.UnixMilli(1700000000123), Attempts: 3, Token: "T",
		Propagation: trace.Propagation{RequestID: "r", TraceParent: "00-11-22-01", TraceState: "k=v"},
		Reply:       "pinion.reply.m.a.p1", Waiter: "pinion.alive.m.a", NotifyStartAfter: 100 * time.Millisecond,
	}
	m := j.Message(state.Names{Model: "m"}.Job(j.Class, 4, j.Tenant))
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		lines = append(lines, name+": "+m.Header.Get(name))
	}
	const want = `pinion.job.m.hi.2.=yGh6CKpdbtIEQyj6aml6uOltw0KR6MIDSujDjm_MbWU
Content-Type: application/json
Nats-Msg-Id: T
Pinion-Attempts: 3
Pinion-Deadline: 1700000000123
Pinion-Id: p1
Pinion-Kind: prediction
Pinion-Notify-After: 100
Pinion-Reply: pinion.reply.m.a.p1
Pinion-Rev: r1
Pinion-Waiter: pinion.alive.m.a
X-Request-Id: r
traceparent: 00-11-22-01
tracestate: k=v`
	assert.Equal(t, "the message", m.Subject+"\n"+strings.Join(lines, "\n"), want)
	read, err := state.ReadJob(m.Header, m.Data)
	j.Class, j.Tenant = "", ""
	assert.True(t, err == nil && reflect.DeepEqual(read, j), "read %+v, %v, want %+v", read, err, j)

	s := state.State{
		Version: 1, Job: "T", Status: state.Processing, Attempt: 2, Lost: 1, Server: "a", Claim: "C", Seq: 7,
		Cancel: true,
		Kind:   state.Training, Deadline: 9,
		Hook:       &state.Hook{URL: "u", Propagation: trace.Propagation{RequestID: "q", TraceParent: "p", TraceState: "s"}},
		Prediction: json.RawMessage(`{"id":"p1"}`),
	}
	const encoded = `{"v":1,"job":"T","status":"processing","attempt":2,"lost":1,"server":"a","claim":"C","seq":7,"cancel":true,"kind":"training","deadline":9,"hook":{"url":"u","request_id":"q","traceparent":"p","tracestate":"s"},"prediction":{"id":"p1"}}`
	if got, err := json.Marshal(&s); err != nil || string(got) != encoded {
		t.Errorf("got %s, %v, want %s", got, err, encoded)
	}
	const schema = `{"v":1,"rev":"-09kjZ4lbG_8G68U","streaming":true,"train":false,"predict":true,"openapi":{"a":1}}`
	if got, err := json.Marshal(state.Schema{
		Streaming: true, Predict: true,
		OpenAPI: json.RawMessage(`{"a":1}`),
	}.Revised()); err != nil || string(got) != schema {
		t.Errorf("got %s, %v, want %s", got, err, schema)
	}
	h := nats.Header{state.HeaderToken: {"T"}}
	state.AttachState(h, 7, []byte(encoded))
	assert.Equal(t, "bytes of a message", h.Get(state.HeaderState), "7 "+encoded)
	got, ok := (&state.Store{}).AttachedState(h)
	text, err := json.Marshal(&got.State)
	assert.True(t, ok && got.Revision == 7 && string(text) == encoded,
		"of a message was read %s, %v, revision %d, %v, want ok true, revision 7 and text %q", text, err, got.Revision, ok, encoded)
	newer := strings.TrimSuffix(encoded, "}") + `,"alpha":[1, 2],"zeta":"é"}`
	var back state.State
	assert.NoError(t, json.Unmarshal([]byte(newer), &back))
	if got, err := json.Marshal(&back); err != nil || string(got) != strings.Replace(newer, "[1, 2]", "[1,2]", 1) {
		t.Errorf("unknown members: got %s, %v, want %s", got, err, newer)
	}
}

func TestMessage_BytesBetweenMembers(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]live.Event{
		`{"attempt":1,"index":0,"event":"start"}`: {Attempt: 1, Event: live.EventStart},
		`{"attempt":2,"index":7,"event":"output","data":{"a":"é"}}`: {
			Attempt: 2, Index: 7, Event: live.EventOutput,
			Data: json.RawMessage(`{"a":"é"}`),
		},
	} {
		got, err := json.Marshal(e)
		assert.True(t, err == nil && string(got) == want, "got %s, %v, want %s", got, err, want)
	}
	for want, q := range map[string]live.Lookup{
		`{"kind":"prediction","id":"p1"}`:             {Kind: state.Prediction, ID: "p1"},
		`{"kind":"training","id":"a b","brief":true}`: {Kind: state.Training, ID: "a b", Brief: true},
	} {
		got, err := json.Marshal(q)
		assert.True(t, err == nil && string(got) == want, "got %s, %v, want %s", got, err, want)
	}
	got, err := json.Marshal(state.Reference{Key: "K"})
	assert.True(t, err == nil && string(got) == `{"obj":"K"}`, "a result that is an object: %s, %v, want %q", got, err, `{"obj":"K"}`)
}

func TestMessage_MessagesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	good := func() state.Job { return state.Job{ID: "p1", Kind: state.Training, Attempts: 1, Token: "T"} }
	for want, change := range map[string]func(h map[string][]string){
		"Pinion-Attempts is \"many\"": func(h map[string][]string) { h[state.HeaderAttempts] = []string{"many"} },
		"Pinion-Deadline is \"soon\"": func(h map[string][]string) { h[state.HeaderDeadline] = []string{"soon"} },
		"Pinion-Kind is \"dance\"":    func(h map[string][]string) { h[state.HeaderKind] = []string{"dance"} },
		"is missing":                  func(h map[string][]string) { delete(h, state.HeaderID) },
	} {
		j := good()
		m := j.Message("s")
		change(m.Header)
		_, err := state.ReadJob(m.Header, nil)
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
	}
}

func TestMessage_Tokens(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"abc-DEF_09": "abc-DEF_09",
		"":           "=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
	} {
		assert.Equal(t, "token("+in, state.Token(in), want)
	}
	for _, odd := range []string{"a.b", "a*", ">", "é", strings.Repeat("a", 65), "a b", "=x"} {
		if got := state.Token(odd); !strings.HasPrefix(got, "=") || len(got) != 44 || strings.ContainsAny(got, ".*> ") {
			t.Errorf("token(%q) = %s, want = and 43 characters that a subject may have", odd, got)
		}
	}
	if _, err := state.ParseClass("urgent"); err == nil || state.CheckModel("a.b") == nil || state.CheckModel("ocr_2") != nil {
		t.Errorf("ParseClass: %v, want an error and an error", err)
	}
}

// TestMessage_MovesOfState walks every pair of states. A job that is released, or whose claim is renewed, keeps its
// state.
func TestMessage_MovesOfState(t *testing.T) {
	t.Parallel()
	legal := map[[2]state.Status]bool{
		{state.Starting, state.Starting}: true, {state.Starting, state.Processing}: true,
		{state.Starting, state.Canceled}: true, {state.Starting, state.Failed}: true,
		{state.Processing, state.Processing}: true, {state.Processing, state.Starting}: true,
		{state.Processing, state.Succeeded}: true, {state.Processing, state.Failed}: true,
		{state.Processing, state.Canceled}: true,
	}
	all := []state.Status{state.Starting, state.Processing, state.Succeeded, state.Failed, state.Canceled, "paused"}
	assert.AllMoves(t, all, legal, func(from, to state.Status) (bool, state.Status) {
		if state.StatusMoves.Allows(from, to) {
			return true, to
		}
		return false, from
	})
}
