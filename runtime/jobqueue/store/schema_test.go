package store_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestSchema_OfLastServer: it is written once for each revision, and members that cannot read it have none.
func TestSchema_OfLastServer(t *testing.T) {
	r := newRig(t, nil)
	other := r.other("b")
	written := func() uint64 {
		t.Helper()
		info := assert.Must(r.State.States.Info(t.Context()))(t)
		return info.State.LastSeq
	}
	read := func() state.Schema {
		t.Helper()
		return assert.Must(other.State.ReadSchema(t.Context()))(t)
	}
	assert.Equal(t, "the revision before the first server", read().Revision, "")
	write := func(s state.Schema) state.Schema {
		t.Helper()
		s = s.Revised()
		assert.NoError(t, r.State.WriteSchema(t.Context(), s))
		return s
	}
	first := write(state.Schema{OpenAPI: json.RawMessage(`{"openapi":"1"}`)})
	before := written()
	if s := read(); s.Revision != first.Revision || string(s.OpenAPI) != `{"openapi":"1"}` {
		t.Errorf("read %+v, want Revision %q and OpenAPI %q", s, first.Revision, `{"openapi":"1"}`)
	}
	if write(first); written() != before {
		t.Error("the same schema was written again, want one write")
	}
	second := write(state.Schema{OpenAPI: json.RawMessage(`{"openapi":"2"}`)})
	s := read()
	assert.True(t, s.Revision == second.Revision && first.Revision != second.Revision,
		"read %+v after %q, want s.Revision %q and first.Revision not %q", s, first.Revision, second.Revision, second.Revision)
	large := write(state.Schema{OpenAPI: json.RawMessage(`"` + strings.Repeat("x", state.ObjectFrom) + `"`)})
	if s := read(); s.Revision != large.Revision || s.OpenAPI != nil {
		t.Errorf("of one that is too large was read %.100v, want Revision %q and OpenAPI nil", s, large.Revision)
	}
	m := nats.NewMsg(r.State.Names.SchemaKey())
	m.Data = []byte(`{"v":2,"rev":"new","openapi":{}}`)
	_, err := r.State.JS.PublishMsg(t.Context(), m)
	assert.NoError(t, err)
	assert.Equal(t, "the revision that was read of a newer member", read().Revision, "")
}
