package store_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestClaim_UnreadableStates of another client of NATS end as dead letters: else their jobs would be
// delivered again forever.
func TestClaim_UnreadableStates(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":        "\xff\xfe\x00",
		"another type":   `[]`,
		"wrong members":  `{"v":1,"job":7,"status":{}}`,
		"no such status": `{"v":1,"job":"JOB","status":"paused","attempt":0,"lost":0,"prediction":{}}`,
		"no status":      `{"v":1,"job":"JOB","prediction":{}}`,
		"nothing":        `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.accept("p1")
			m := r.delivery(r.Queue)
			job := m.Headers().Get(state.HeaderToken)
			_, err := r.State.JS.Publish(t.Context(), r.State.Names.StateKey("p1"), []byte(strings.ReplaceAll(text, "JOB", job)))
			assert.NoError(t, err)
			_, err = r.Find(t.Context(), "p1", renderer{})
			assert.True(t, errors.Is(err, state.ErrUnknown), "got %v of a member that waits, want that the job is not known", err)
			r.wantOutcome(r.other("c"), m, consume.Orphaned)
			assert.Equal(t, "jobs", r.messages(r.State.Names.Jobs()), 0)
			letters, err := r.admin().Letters(t.Context(), 0)
			assert.True(t, err == nil && len(letters) == 1, "got the dead letters %v, %v, want one", letters, err)
		})
	}
}

// TestClaim_HostileMessages by another client of NATS become dead letters, with any headers.
func TestClaim_HostileMessages(t *testing.T) {
	r := newRig(t, nil)
	for i, change := range []func(h nats.Header){
		func(h nats.Header) { h.Set(state.HeaderID, "a\x00b\x1b[2J\x7f") },
		func(h nats.Header) { h.Set(state.HeaderID, strings.Repeat("x", 60<<10)) },
		func(h nats.Header) { h.Set(state.HeaderID, state.Escaped+"%ff%0a%00") },
		func(h nats.Header) { h.Set(state.HeaderAttempts, "99999999999999999999") },
		func(h nats.Header) { h.Set(state.HeaderDeadline, "-9223372036854775808") },
		func(h nats.Header) { h.Set(state.HeaderState, "18446744073709551616 {}") },
		func(h nats.Header) { h.Set(state.HeaderState, "1 {\"v\":1,\"job\":\"t\"}") },
		func(h nats.Header) { h.Set(state.HeaderBody, "obj/../../x") },
		func(h nats.Header) { h.Set(state.HeaderKind, "rm -rf") },
		func(h nats.Header) { h.Set(state.HeaderReply, "pinion.>") },
	} {
		m := nats.NewMsg("pinion.job.m.std.0." + state.Token(""))
		m.Data = []byte("\xff\xfe{")
		m.Header.Set(state.HeaderID, "h"+strconv.Itoa(i))
		m.Header.Set(state.HeaderToken, "t"+strconv.Itoa(i))
		m.Header.Set(state.HeaderAttempts, "3")
		m.Header.Set(state.HeaderKind, string(state.Prediction))
		change(m.Header)
		_, err := r.State.JS.PublishMsg(t.Context(), m)
		assert.NoError(t, err)
		_, what := r.Jobs.Claim(t.Context(), r.delivery(r.Queue), noSlot{}, renderer{}, nil)
		assert.True(t, what == consume.Orphaned, "got %s for the message %d, want a dead letter", what, i)
	}
	assert.Equal(t, "jobs", r.messages(r.State.Names.Jobs()), 0)
}

// TestClaim_RepliesToMembersAlone though a job's message names another subject: what is published there would be
// published with this member's rights.
func TestClaim_RepliesToMembersAlone(t *testing.T) {
	r := newRig(t, nil)
	r.accept("victim")
	watcher := r.server.connect(t)
	asked, err := watcher.SubscribeSync(">")
	if err == nil {
		err = watcher.Flush()
	}
	assert.NoError(t, err)
	for _, subject := range []string{
		"$JS.API.STREAM.PURGE." + r.State.Names.States(), "pinion.reply.other.a.b", "pinion.reply.m.>", "a b", "other",
	} {
		c := &consume.Claim{Q: r.Jobs, Job: state.Job{ID: "p1", Reply: subject}}
		text, _ := json.Marshal(map[string]string{"status": "succeeded"})
		c.Notify(text)
		assert.False(t, r.Jobs.Abandoned(t.Context(), &state.Job{Waiter: subject}),
			"got that the client at %q has left, want that nothing is known", subject)
	}
	own := &consume.Claim{Q: r.Jobs, Job: state.Job{ID: "p1", Reply: r.Live.ReplySubject("p1")}, Begun: make(chan struct{})}
	own.NotifyStart()
	for {
		m := assert.Must(asked.NextMsg(20 * time.Second))(t)
		if m.Subject == own.Job.Reply {
			break
		}
		if strings.HasPrefix(m.Subject, "$JS.API.STREAM.PURGE") || strings.HasPrefix(m.Subject, "pinion.reply.other") {
			t.Errorf("got a message on %s, want none", m.Subject)
		}
	}
	assert.Equal(t, "the state", r.state("victim").Status, state.Starting)
}

// TestServer_AnswersInboxesAlone though a request names another subject, for the same reason.
func TestServer_AnswersInboxesAlone(t *testing.T) {
	r := newRig(t, nil)
	r.accept("victim")
	stop := assert.Must(r.Live.Answer(func(string, live.Notice) {}))(t)
	defer stop()
	nc := r.server.connect(t)
	assert.NoError(t, nc.PublishRequest(r.Live.Waiter(), "$JS.API.STREAM.PURGE."+r.State.Names.States(), nil))
	if _, err := nc.Request(r.Live.Waiter(), nil, 20*time.Second); err != nil { // answered after the other
		t.Errorf("got %v for a request of a member, want an answer", err)
	}
	assert.Equal(t, "the state", r.state("victim").Status, state.Starting)
}
