package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestPromises_CancelThatWasAnsweredIsKept: the run did not hear of it and succeeded, because the message to it was
// lost.
func TestPromises_CancelThatWasAnsweredIsKept(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	c := r.claims(r.Queue) // not by a Server: nothing listens
	r.cancels(r.other("b"), "p1", "")
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p1")))
	if s := r.state("p1"); s.Status != state.Canceled || !strings.Contains(string(s.Prediction), "canceled") {
		t.Errorf(`the state is %s, %s, want Status canceled and Prediction with "canceled"`, s.Status, s.Prediction)
	}
}

// TestPromises_ServerKeepsMessageUntilItsWebhookIsStored: what comes before the webhook of the end may take longer than
// AckWait. No other server may store that webhook meanwhile.
func TestPromises_ServerKeepsMessageUntilItsWebhookIsStored(t *testing.T) {
	r := newRig(t, nil)
	before := make(chan struct{})
	r.serve(r.Queue, newRunner(1, func(_ context.Context, c *consume.Claim) (state.Status, []byte) {
		c.BeforeWebhook = func() { <-before }
		return state.Succeeded, starting(c.Job.ID)
	}))
	r.accept("p1")
	r.eventually("it has ended", func() bool { return r.state("p1").Status == state.Succeeded })
	b := r.other("b")
	consumer := assert.Must(b.State.JS.Consumer(t.Context(), b.State.Names.Jobs(), state.Consumer(state.Normal, 0)))(t)
	if m, err := consumer.Next(jetstream.FetchMaxWait(3 * r.State.Options.AckWait)); err == nil {
		t.Errorf("it was delivered to another server: %v", m.Headers())
	}
	assert.Equal(t, "webhooks stored", r.messages(r.State.Names.Hooks()), 0)
	close(before)
	r.eventually("its webhook is stored and its message gone",
		func() bool { return r.messages(r.State.Names.Hooks()) == 1 && r.messages(r.State.Names.Jobs()) == 0 })
}

// TestPromises_LanesOfOthersAreServed: a server with fewer lanes than there are takes the jobs of all.
func TestPromises_LanesOfOthersAreServed(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Lanes = 3 })
	for i := range 20 {
		r.accept(fmt.Sprint("p", i), func(j *state.Job) { j.Tenant = fmt.Sprint("tenant", i) })
	}
	o := r.State.Options
	o.Lanes, o.Server = 1, "b"
	r.serve(r.member(o), newRunner(1, succeed))
	r.eventually("all ended", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })

	o.Lanes = 5
	var mismatch *state.MismatchError
	_, err := store.Open(t.Context(), state.Connected(r.State.NC), o)
	assert.True(t, errors.As(err, &mismatch) && mismatch.Field == "lanes" && mismatch.Have == "3" && mismatch.Want == "5",
		"a member with more lanes: %v, want an error of type *MismatchError, Field lanes, Have 3 and Want 5", err)
}

// TestPull_OneOfEightTurnsIsForEachLowerClass is the order in which one place takes jobs while all classes have enough.
func TestPull_OneOfEightTurnsIsForEachLowerClass(t *testing.T) {
	r := newRig(t, nil)
	for i := range 8 {
		for _, class := range state.Classes {
			r.accept(fmt.Sprint(class, i), func(j *state.Job) { j.Class = class })
		}
	}
	for _, class := range state.Classes {
		c := assert.Must(r.State.JS.Consumer(t.Context(), r.State.Names.Jobs(), state.Consumer(class, 0)))(t)
		r.eventually("the consumer knows of all",
			func() bool { info, err := c.Info(t.Context()); return err == nil && info.NumPending == 8 })
	}
	p := assert.Must(consume.NewPuller(t.Context(), r.Jobs, ""))(t)
	defer p.Close()
	counts := map[string]int{}
	for range 8 {
		for _, m := range p.Next(t.Context(), 1) {
			counts[strings.Split(m.Subject(), ".")[3]]++
		}
	}
	assert.True(t, counts["hi"] == 6 && counts["std"] == 1 && counts["lo"] == 1,
		`eight turns took %v, want counts["hi"] 6, counts["std"] 1 and counts["lo"] 1`, counts)
}

// TestPromises_ConsumersWithOtherSettingsAreRefused: with the defaults of NATS they would stop a fleet (trap 5), or
// park jobs (trap 4).
func TestPromises_ConsumersWithOtherSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*jetstream.ConsumerConfig){
		"max_deliver":     func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 },
		"max_ack_pending": func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 1000 },
		"max_waiting":     func(c *jetstream.ConsumerConfig) { c.MaxWaiting = 512 },
	} {
		t.Run(field, func(t *testing.T) {
			r := newRig(t, nil)
			want := r.State.Options.Consumers()[0]
			change(&want)
			assert.NoError(t, r.State.Jobs.DeleteConsumer(t.Context(), want.Durable))
			_, err := r.State.Jobs.CreateConsumer(t.Context(), want)
			assert.NoError(t, err)
			var mismatch *state.MismatchError
			if _, err := store.Open(t.Context(), state.Connected(r.State.NC), r.State.Options); !errors.As(err, &mismatch) ||
				mismatch.Field != field {
				t.Errorf("got %v, want an error of type *MismatchError and Field %q", err, field)
			}
		})
	}
}

// TestPromises_BodyGoesWithItsJob: also where the job ends without a run.
func TestPromises_BodyGoesWithItsJob(t *testing.T) {
	r := newRig(t, nil)
	large := func(j *state.Job) { j.Body = []byte(strings.Repeat("x", 1<<20)) }
	bodies := func() int {
		store := assert.Must(r.State.JS.ObjectStore(t.Context(), r.State.Names.Bodies()))(t)
		objects, err := store.List(t.Context())
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
			t.Fatal(err)
		}
		return len(objects)
	}
	r.accept("late", large, func(j *state.Job) { j.Deadline = time.Now().Add(-time.Second) })
	r.accept("canceled", large)
	assert.EqualNow(t, "bodies", bodies(), 2)
	r.cancels(r.Queue, "canceled", "")
	r.serve(r.other("b"), newRunner(1, succeed))
	r.eventually("their bodies are gone", func() bool { return bodies() == 0 })
}

// TestPromises_NewerStateIsLeftAlone: this member does not know what its members mean.
func TestPromises_NewerStateIsLeftAlone(t *testing.T) {
	r := newRig(t, nil)
	text := `{"v":2,"job":"T","status":"processing","attempt":1,"lost":0,"prediction":{"id":"p1","status":"processing"}}`
	_, err := r.State.JS.Publish(t.Context(), r.State.Names.StateKey("p1"), []byte(text))
	assert.NoError(t, err)
	_, err = r.Cancel(t.Context(), "p1", "", renderer{})
	assert.ErrorIs(t, "a cancel", err, state.ErrUnavailable)
	assert.Equal(t, "the state", r.text("p1"), text)
}

// TestPromises_RepeatedIDTellsItsResult: also one that is kept as an object.
func TestPromises_RepeatedIDTellsItsResult(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	large := []byte(`{"id":"p1","output":"` + strings.Repeat("x", 1<<20) + `"}`)
	assert.NoError(t, r.claims(r.Queue).End(t.Context(), state.Succeeded, large))
	var used *store.InUseError
	_, err := r.Accept(t.Context(), state.Job{ID: "p1", Kind: state.Prediction, Class: state.Normal, Attempts: 3}, starting("p1"), true)
	assert.TrueNow(t, errors.As(err, &used), "got %.200v, want an error of type *store.InUseError", err)
	assert.Equal(t, "bytes of its prediction", len(used.State.Prediction), len(large))
}

// TestPromises_LaneThatIsAddedIsServed by servers that run already.
func TestPromises_LaneThatIsAddedIsServed(t *testing.T) {
	r := newRig(t, nil)
	r.serve(r.other("b"), newRunner(1, succeed))
	r.accept("p1")
	r.eventually("it takes jobs", func() bool { return r.state("p1").Status == state.Succeeded })
	lanes := 3
	_, err := r.admin().Apply(t.Context(), admin.Limits{Lanes: &lanes})
	assert.NoError(t, err)
	r.State.Options.Lanes = lanes
	for i := range 20 {
		r.accept(fmt.Sprint("new", i), func(j *state.Job) { j.Tenant = fmt.Sprint("tenant", i) })
	}
	r.eventually("the jobs of the new lanes ended", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
}
