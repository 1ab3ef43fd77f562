package store

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
			job := m.Headers().Get(headerToken)
			_, err := r.js.Publish(t.Context(), r.names.stateKey("p1"), []byte(strings.ReplaceAll(text, "JOB", job)))
			assert.NoError(t, err)
			_, err = r.Find(t.Context(), "p1", renderer{})
			assert.True(t, errors.Is(err, ErrUnknown), "got %v of a member that waits, want that the job is not known", err)
			r.wantOutcome(r.other("c"), m, orphaned)
			assert.Equal(t, "jobs", r.messages(r.names.jobs()), 0)
			letters, err := r.admin().Letters(t.Context(), 0)
			assert.True(t, err == nil && len(letters) == 1, "got the dead letters %v, %v, want one", letters, err)
		})
	}
}

// TestClaim_HostileMessages by another client of NATS become dead letters, with any headers.
func TestClaim_HostileMessages(t *testing.T) {
	r := newRig(t, nil)
	for i, change := range []func(h nats.Header){
		func(h nats.Header) { h.Set(headerID, "a\x00b\x1b[2J\x7f") },
		func(h nats.Header) { h.Set(headerID, strings.Repeat("x", 60<<10)) },
		func(h nats.Header) { h.Set(headerID, escaped+"%ff%0a%00") },
		func(h nats.Header) { h.Set(headerAttempts, "99999999999999999999") },
		func(h nats.Header) { h.Set(headerDeadline, "-9223372036854775808") },
		func(h nats.Header) { h.Set(headerState, "18446744073709551616 {}") },
		func(h nats.Header) { h.Set(headerState, "1 {\"v\":1,\"job\":\"t\"}") },
		func(h nats.Header) { h.Set(headerBody, "obj/../../x") },
		func(h nats.Header) { h.Set(headerKind, "rm -rf") },
		func(h nats.Header) { h.Set(headerReply, "pinion.>") },
	} {
		m := nats.NewMsg("pinion.job.m.std.0." + token(""))
		m.Data = []byte("\xff\xfe{")
		m.Header.Set(headerID, "h"+strconv.Itoa(i))
		m.Header.Set(headerToken, "t"+strconv.Itoa(i))
		m.Header.Set(headerAttempts, "3")
		m.Header.Set(headerKind, string(Prediction))
		change(m.Header)
		_, err := r.js.PublishMsg(t.Context(), m)
		assert.NoError(t, err)
		_, what := r.claim(t.Context(), r.delivery(r.Queue), noSlot{}, renderer{}, nil)
		assert.True(t, what == orphaned, "got %s for the message %d, want a dead letter", what, i)
	}
	assert.Equal(t, "jobs", r.messages(r.names.jobs()), 0)
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
		"$JS.API.STREAM.PURGE." + r.names.states(), "pinion.reply.other.a.b", "pinion.reply.m.>", "a b", "other",
	} {
		c := &Claim{q: r.Queue, Job: Job{ID: "p1", Reply: subject}}
		state, _ := json.Marshal(map[string]string{"status": "succeeded"})
		c.notify(state)
		assert.False(t, r.abandoned(t.Context(), &Job{Waiter: subject}),
			"got that the client at %q has left, want that nothing is known", subject)
	}
	own := &Claim{q: r.Queue, Job: Job{ID: "p1", Reply: r.ReplySubject("p1")}, begun: make(chan struct{})}
	own.NotifyStart()
	for {
		m, err := asked.NextMsg(20 * time.Second)
		assert.NoError(t, err)
		if m.Subject == own.Job.Reply {
			break
		}
		if strings.HasPrefix(m.Subject, "$JS.API.STREAM.PURGE") || strings.HasPrefix(m.Subject, "pinion.reply.other") {
			t.Errorf("got a message on %s, want none", m.Subject)
		}
	}
	assert.Equal(t, "the state", r.state("victim").Status, Starting)
}

// TestServer_AnswersInboxesAlone though a request names another subject, for the same reason.
func TestServer_AnswersInboxesAlone(t *testing.T) {
	r := newRig(t, nil)
	r.accept("victim")
	stop, err := r.Answer(func(string, Notice) {})
	assert.NoError(t, err)
	defer stop()
	nc := r.server.connect(t)
	assert.NoError(t, nc.PublishRequest(r.Waiter(), "$JS.API.STREAM.PURGE."+r.names.states(), nil))
	if _, err := nc.Request(r.Waiter(), nil, 20*time.Second); err != nil { // answered after the other
		t.Errorf("got %v for a request of a member, want an answer", err)
	}
	assert.Equal(t, "the state", r.state("victim").Status, Starting)
}
