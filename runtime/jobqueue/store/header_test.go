package store_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// oddTexts are values that a header of NATS would change, and their neighbours.
var oddTexts = []string{
	" p1", "p1 ", " p1 ", "\tp1", "p1\t", "p 1", " ", "\u00a0p1", "p1\u2003", "p\u2028", "é", "p1%20", "%", "UTF-8''p1",
	"UTF-8''%zz", " %20 ", "a\r\nb",
	"unknown", ".", "*", ">", "$", "a.b", "=p1", strings.Repeat("€", 256), " " + strings.Repeat("€", 255),
}

// overWire returns what a member reads of a header that another one wrote.
func overWire(t *testing.T, h nats.Header) nats.Header {
	t.Helper()
	nc := startServer(t).connect(t)
	sub := assert.Must(nc.SubscribeSync("test"))(t)
	assert.NoError(t, nc.PublishMsg(&nats.Msg{Subject: "test", Header: h}))
	m := assert.Must(sub.NextMsg(20 * time.Second))(t)
	return m.Header
}

func TestHeader_KeepsAnyText(t *testing.T) {
	t.Parallel()
	h := nats.Header{}
	name := func(i int) string { return "H" + strings.Repeat("x", i) }
	odd := append([]string{"a\x00b", "a\x7f", "\xff"}, oddTexts...)
	for i, text := range odd {
		state.Set(h, name(i), text)
	}
	read := overWire(t, h)
	for i, text := range odd {
		assert.Equal(t, "the header as it is read", state.Get(read, name(i)), text)
	}
}

// TestHeader_OfOlderMembers: plain text is stored as they write it, and what they wrote is read as they read it.
func TestHeader_OfOlderMembers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"p1", "p 1", "é", "p1%20", "application/json; charset=utf-8", "https://a.test/?q=%20x",
		"UTF-8''%zz",
	} {
		h := nats.Header{}
		state.Set(h, "H", text)
		got := h.Get("H")
		assert.False(t, got != text && text != "UTF-8''%zz", "stored %q, want %q", got, text)
		assert.Equal(t, "read", state.Get(nats.Header{"H": {text}}, "H"), text)
	}
}

// TestJob_WithAnyText goes with all its free text from its client to its end, its webhook, its dead letter and a retry
// of that.
func TestJob_WithAnyText(t *testing.T) {
	r := newRig(t, nil)
	a := assert.Must(admin.Open(t.Context(), state.Connected(r.State.NC), "m", 0, nil))(t)
	for _, odd := range oddTexts {
		job := func(j *state.Job) {
			j.ContentType, j.TraceState, j.Attempts, j.Tenant = odd, odd, 1, odd
			j.Hook = &state.Hook{
				URL:         "http://hook.test/" + odd,
				Propagation: trace.Propagation{RequestID: odd, TraceParent: odd, TraceState: odd},
			}
		}
		s := r.accept(odd, job)
		list, err := a.Jobs(t.Context(), "", "", 0)
		if err != nil || len(list) != 1 || list[0].ID != odd || list[0].ContentType != odd ||
			list[0].State.Status != state.Starting {
			t.Errorf("%q is listed as %+v, %v, want len(list) 1, ID %q, ContentType %q and Status starting", odd, list, err, odd,
				odd)
		}
		c := r.claims(r.Queue)
		assert.True(t, c.Job.ID == odd && c.Job.ContentType == odd && c.Job.TraceState == odd, "got %+v, want %q", c.Job, odd)
		assert.NoError(t, c.End(t.Context(), state.Succeeded, starting(odd)))
		got := r.state(odd)
		assert.True(t, got.Status == state.Succeeded && got.Job == s.Job, "%q is %s, want Status succeeded and Job %q", odd, got.Status, s.Job)
		if got := r.posting(); got.ID != odd || got.Hook != *c.State.Hook {
			t.Errorf("the webhook of %q is %+v, want ID %q and Hook %+v", odd, got, odd, *c.State.Hook)
		}

		lost := "lost" + odd + "lost" + odd // inside, and at the end
		r.accept(lost, job)
		first := r.delivery(r.Queue)
		_, what := r.Jobs.Claim(t.Context(), first, noSlot{}, renderer{}, nil)
		assert.TrueNow(t, what == consume.Claimed, "%q: %s, want claimed", lost, what)
		_ = first.Nak() // its server is lost
		_, what = r.Jobs.Claim(t.Context(), r.delivery(r.Queue), noSlot{}, renderer{}, nil)
		assert.True(t, what == consume.Settled, "%q: %s, want settled", lost, what)
		assert.Equal(t, "ID", r.posting().ID, lost)
		letters, err := a.Letters(t.Context(), 0)
		assert.True(t, err == nil && len(letters) == 1 && letters[0].ID == lost,
			"the dead letter of %q is %+v, %v, want len(letters) 1 and ID %q", lost, letters, err, lost)
		_, _, l, err := a.Job(t.Context(), lost)
		assert.True(t, err == nil && l != nil && l.ID == lost, "%q has the letter %+v, %v, want the same", lost, l, err)
		err = a.Retry(t.Context(), lost, odd+"again", func(*state.State) json.RawMessage { return starting(odd + "again") })
		assert.TrueNow(t, err == nil, "retry %q: got %v, want no error", lost, err)
		c = r.claims(r.Queue)
		if c.Job.ID != odd+"again" || c.Job.ContentType != odd || c.State.Hook == nil || c.State.Hook.RequestID != odd {
			t.Errorf("the retry of %q is %+v, want ID %q, ContentType %q and RequestID %q", lost, c.Job, odd+"again", odd, odd)
		}
		assert.NoError(t, c.End(t.Context(), state.Succeeded, starting(c.Job.ID)))
		r.posting()
	}
}

// TestJob_WithTrimmedID: a member that does not escape headers accepted it.
func TestJob_WithTrimmedID(t *testing.T) {
	r := newRig(t, nil)
	const id = " p1 "
	s := state.State{Job: "T", Status: state.Starting, Prediction: starting(id)}
	revision, text, err := r.Create(t.Context(), id, &s)
	assert.NoError(t, err)
	m := (&state.Job{ID: "p1", Kind: state.Prediction, Attempts: 1, Token: "T"}).Message(r.State.Names.Job(state.Normal, 1, ""))
	state.AttachState(m.Header, revision, text)
	_, err = r.State.JS.PublishMsg(t.Context(), m)
	assert.NoError(t, err)
	c := r.claims(r.Queue)
	assert.True(t, c.Job.ID == id && c.End(t.Context(), state.Succeeded, starting(id)) == nil &&
		r.state(id).Status == state.Succeeded,
		"got the job %+v, want %q", c.Job, id)
}

// posting returns the next webhook.
func (r *rig) posting() (p consume.Posting) {
	r.t.Helper()
	c := assert.Must(r.State.JS.Consumer(r.t.Context(), r.State.Names.Hooks(), state.Sender))(r.t)
	m := consume.PullOne(r.t.Context(), c)
	assert.TrueNow(r.t, m != nil, "no webhook came")
	r.Jobs.Try(r.t.Context(), m, func(_ context.Context, got consume.Posting) time.Duration {
		p = got
		return 0
	})
	_ = m.Ack()
	return p
}
