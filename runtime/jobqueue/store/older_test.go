package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// What a server of commit 425b18b stored and sent, byte by byte. Its messages did not carry the state.
const (
	olderHeader = "NATS/1.0\r\nContent-Type: application/json\r\nNats-Msg-Id: TZQWXNJQ4RZPVZP2MO2T2VRQ6B\r\nPinion-Attempts: 3\r\nPinion-Id: p1\r\n" +
		"Pinion-Kind: prediction\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n"
	olderBody  = `{"id":"p1","input":{"token":"p1"},"webhook":"http://hook.test/p1","webhook_events_filter":["completed"]}`
	olderState = `{"v":1,"job":"TZQWXNJQ4RZPVZP2MO2T2VRQ6B","status":"starting","attempt":0,"lost":0,"hook":{"url":"http://hook.test/p1","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},` +
		`"prediction":{"id":"p1","input":{"token":"p1"},"status":"starting","created_at":"2026-11-24T14:22:47.123456789Z"}}`
	olderClaimed = `{"v":1,"job":"TZQWXNJQ4RZPVZP2MO2T2VRQ6B","status":"processing","attempt":1,"lost":0,"server":"host-1-a","claim":"6UPM2TXXAVU2YOQ2EK6PKQGTUK","seq":1,"hook":{"url":"http://hook.test/p1"},` +
		`"prediction":{"id":"p1","input":{"token":"p1"},"status":"processing","created_at":"2026-11-24T14:22:47.123456789Z","started_at":"2026-11-24T14:22:47.2Z"}}`
	olderEvent = `{"attempt":1,"index":4,"event":"output","data":"token 4"}`
	olderLoad  = `{"slots":1,"free":0,"running":1,"draining":false,"version":"0.1.0-dev"}`
	olderHook  = "NATS/1.0\r\nNats-Msg-Id: TZQWXNJQ4RZPVZP2MO2T2VRQ6B\r\nPinion-Id: p1\r\nPinion-Webhook: http://hook.test/p1\r\nX-Request-Id: q1\r\n\r\n"
)

// older puts a job into the queue as an older member does.
func (r *rig) older(state string) {
	r.t.Helper()
	_, err := r.State.JS.PublishMsg(r.t.Context(), &nats.Msg{Subject: r.State.Names.StateKey("p1"), Data: []byte(state)},
		jetstream.WithExpectLastSequencePerSubject(0))
	assert.NoError(r.t, err)
	_, err = r.State.JS.PublishMsg(r.t.Context(), r.olderMessage())
	assert.NoError(r.t, err)
}

func (r *rig) olderMessage() *nats.Msg {
	r.t.Helper()
	h := assert.Must(nats.DecodeHeadersMsg([]byte(olderHeader)))(r.t)
	return &nats.Msg{Subject: r.State.Names.Job(state.Normal, 1, ""), Header: h, Data: []byte(olderBody)}
}

// text returns a state as it is stored.
func (r *rig) text(id string) string {
	r.t.Helper()
	m := assert.Must(r.State.States.GetLastMsgForSubject(r.t.Context(), r.State.Names.StateKey(id)))(r.t)
	return string(m.Data)
}

// TestOlder_JobOfOlderMember runs, and its webhook is stored.
func TestOlder_JobOfOlderMember(t *testing.T) {
	r := newRig(t, nil)
	r.older(olderState)
	c := r.claims(r.Queue)
	if string(c.Job.Body) != olderBody || c.Job.ID != "p1" || c.Job.Kind != state.Prediction || c.Job.Attempts != 3 ||
		c.Job.TraceParent == "" || c.State.Attempt != 1 {
		t.Errorf("the job is %+v, its state %+v, want it as the older version wrote it", c.Job, c.State)
	}
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p1")))
	r.eventually("its message is gone", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
	assert.Equal(t, "its status", r.state("p1").Status, state.Succeeded)
	assert.Equal(t, "webhooks", r.messages(r.State.Names.Hooks()), 1)
	assert.Equal(t, "dead letters", r.messages(r.State.Names.Dead()), 0)
}

// TestOlder_JobThatOlderServerRuns is found and canceled, and run again when that server is lost.
func TestOlder_JobThatOlderServerRuns(t *testing.T) {
	r := newRig(t, nil)
	r.older(olderClaimed)
	if s := r.state("p1"); s.Status != state.Processing || s.Server != "host-1-a" || s.Seq != 1 {
		t.Errorf("it is %+v, want Status processing, Server host-1-a and Seq 1", s)
	}
	first := r.delivery(r.Queue) // nothing answers for the older server
	c, what := r.Jobs.Claim(t.Context(), first, noSlot{}, renderer{}, nil)
	assert.TrueNow(t, what == consume.Claimed && c.State.Attempt == 2 && c.State.Lost == 1,
		"its job was %s: %+v, want what claimed, Attempt 2 and Lost 1", what, c)
	r.cancels(r.Queue, "p1", state.Prediction)
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p1")))
	assert.Equal(t, "its status", r.state("p1").Status, state.Canceled)
}

// TestOlder_WhatNewerMemberAdds is kept in each move of a state, and does not disturb the reader of a message or an
// event.
func TestOlder_WhatNewerMemberAdds(t *testing.T) {
	r := newRig(t, nil)
	const added = `,"zeta":{"b":[1, 2]},"alpha":"é"`
	r.older(strings.TrimSuffix(olderState, "}") + added + "}")
	kept := func(status state.Status) {
		t.Helper()
		var s struct {
			Status state.Status
			Alpha  string
			Zeta   struct{ B []int }
		}
		text := r.text("p1")
		assert.True(t, json.Unmarshal([]byte(text), &s) == nil && s.Status == status && s.Alpha == "é" && len(s.Zeta.B) == 2,
			"want it %s, with all members; the state is %s", status, text)
	}
	c := r.claims(r.Queue)
	kept(state.Processing)
	assert.NoError(t, c.Release(t.Context(), starting("p1")))
	kept(state.Starting)
	c = r.claims(r.Queue)
	r.cancels(r.Queue, "p1", "")
	kept(state.Processing)
	assert.NoError(t, c.End(t.Context(), state.Canceled, starting("p1")))
	kept(state.Canceled)

	m := r.olderMessage()
	m.Header.Set("Pinion-Zeta", "1")
	j := assert.Must(state.ReadJob(m.Header, m.Data))(t)
	assert.Equal(t, "the id of a message", j.ID, "p1")
	for _, added := range []string{"", `,"zeta":1`} {
		var e live.Event
		if err := json.Unmarshal([]byte(strings.TrimSuffix(olderEvent, "}")+added+"}"), &e); err != nil || e.Attempt != 1 ||
			e.Index != 4 || e.Event != live.EventOutput || string(e.Data) != `"token 4"` {
			t.Errorf("an event is %+v, %v, want Attempt 1, Index 4, Event output and Data %q", e, err, `"token 4"`)
		}
		var l live.ServerStatus
		err := json.Unmarshal([]byte(strings.TrimSuffix(olderLoad, "}")+added+"}"), &l)
		assert.True(t, err == nil && l.Slots == 1 && l.Running == 1 && !l.Gone && l.Version != "",
			"a load is %+v, %v, want Slots 1, Running 1, Gone false and Version non-empty", l, err)
	}
	h := assert.Must(nats.DecodeHeadersMsg([]byte(olderHook)))(t)
	if hook, err := r.State.ReadHook(h); err != nil || hook.URL != "http://hook.test/p1" || hook.RequestID != "q1" {
		t.Errorf(`a webhook is %+v, %v, want URL "http://hook.test/p1" and RequestID q1`, hook, err)
	}
}

// TestOlder_StateOfHigherVersion is left to newer members.
func TestOlder_StateOfHigherVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{olderState, olderClaimed} {
		r := startRig(t, nil)
		newer := strings.Replace(text, `"v":1`, `"v":2,"zeta":1`, 1)
		r.older(newer)
		m := r.delivery(r.Queue)
		c, what := r.Jobs.Claim(t.Context(), m, noSlot{}, renderer{}, nil)
		assert.True(t, c == nil && what == consume.Deferred, "it was %s, want c nil and what deferred", what)
		_, err := r.Cancel(t.Context(), "p1", "", renderer{})
		assert.True(t, errors.Is(err, state.ErrUnavailable) && strings.Contains(err.Error(), "ask a newer server"),
			`a cancel: %v, want error ErrUnavailable and err with "ask a newer server"`, err)
		j := state.Job{ID: "p1", Kind: state.Prediction, Class: state.Normal, Attempts: 3}
		var used *store.InUseError
		_, err = r.Accept(t.Context(), j, starting("p1"), false)
		assert.True(t, errors.As(err, &used), "its id is free: %v, want an error of type *store.InUseError", err)
		assert.Equal(t, "the state", r.text("p1"), newer)
		assert.Equal(t, "jobs", r.messages(r.State.Names.Jobs()), 1)
		assert.Equal(t, "dead letters", r.messages(r.State.Names.Dead()), 0)
	}
}

// TestOlder_DeadLetterOfOlderMember, which copied what a newer message carries, becomes a new job that is claimed by
// its own state.
func TestOlder_DeadLetterOfOlderMember(t *testing.T) {
	r := newRig(t, nil)
	dead := r.olderMessage()
	dead.Subject = "pinion.dead.m.p1"
	dead.Header.Set(state.HeaderState, "1 "+olderState)
	dead.Header.Set(state.HeaderReason, "gave up after 3 attempts")
	dead.Header.Set(state.HeaderSubject, r.State.Names.Job(state.Normal, 1, ""))
	_, err := r.State.JS.PublishMsg(t.Context(), dead)
	assert.NoError(t, err)
	assert.NoError(t, r.admin().Retry(t.Context(), "p1", "p2", func(*state.State) json.RawMessage { return starting("p2") }))
	c := r.claims(r.Queue)
	assert.True(t, c.Job.ID == "p2" && c.State.Job != "TZQWXNJQ4RZPVZP2MO2T2VRQ6B" && string(c.Job.Body) == olderBody,
		"the new job is %+v, %+v, want ID p2, Job not TZQWXNJQ4RZPVZP2MO2T2VRQ6B and Body %q", c.Job, c.State, olderBody)
	// An older `pinion jobs retry` leaves the header in the new job's message.
	again := r.olderMessage()
	again.Header.Set(state.HeaderState, "1 "+olderState)
	again.Header.Set(state.HeaderToken, "another")
	s, ok := r.State.AttachedState(again.Header)
	assert.False(t, ok, "a job is claimed by the state of its former life: %+v", s.State)
}
