package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// admin opens the rig's queue for an operator.
func (r *rig) admin() *admin.Admin {
	r.t.Helper()
	return assert.Must(admin.Open(r.t.Context(), state.Connected(r.State.NC), r.State.Options.Model, 0, nil))(r.t)
}

// dies lets a job lose its only attempt.
func (r *rig) dies(id string, change ...func(*state.Job)) {
	r.t.Helper()
	r.accept(id, append(change, func(j *state.Job) { j.Attempts = 1 })...)
	r.claims(r.Queue)
	r.wantOutcome(r.other("c"), r.delivery(r.Queue), consume.Settled)
}

func TestAdmin_SeesWaitingAndRunningJobs(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.AckWait = time.Minute })
	r.accept("runs", func(j *state.Job) { j.Tenant = "t1" })
	r.claims(r.Queue)
	r.accept("waits")
	r.accept("urgent", func(j *state.Job) { j.Class = state.High })
	a := r.admin()
	entries, err := a.Jobs(t.Context(), "", "", 0)
	if err != nil || len(entries) != 3 || entries[0].ID != "runs" || entries[0].State.Status != state.Processing ||
		entries[0].Tenant != "t1" ||
		entries[2].Class != state.High || entries[1].Tenant != "" {
		t.Fatalf("all jobs are %+v, %v, want three, of which that of tenant t1 and class hi runs", entries, err)
	}
	for _, c := range []struct {
		class  state.Class
		status state.Status
		limit  int
		want   string
	}{
		{"", "", 2, "runs waits"},
		{state.High, "", 0, "urgent"},
		{"", state.Starting, 0, "waits urgent"},
		{"", state.Processing, 0, "runs"},
		{state.Low, "", 0, ""},
	} {
		some, err := a.Jobs(t.Context(), c.class, c.status, c.limit)
		var ids []string
		for _, e := range some {
			ids = append(ids, e.ID)
		}
		got := strings.Join(ids, " ")
		assert.True(t, err == nil && got == c.want, "%q %q %d: %q, %v; want %q", c.class, c.status, c.limit, got, err, c.want)
	}
	if n, err := a.Count(t.Context()); err != nil || n.Stored != 3 || n.Lanes[2].Name != "std-0" ||
		n.Lanes[2].Pending != 1 || n.Lanes[2].Delivered != 1 || n.Dead != 0 || len(n.Lanes) != 3 || n.Capacity != 100_000 {
		t.Errorf("counts are %+v, %v, want 3 stored, in std-0 one that waits and one that runs, none dead", n, err)
	}
	s, e, l, err := a.Job(t.Context(), "runs")
	assert.True(t, err == nil && s.Attempt == 1 && e != nil && e.Tenant == "t1" && l == nil,
		"one job is %+v %+v %+v, %v, want Attempt 1, Tenant t1 and l nil", s, e, l, err)
	_, _, _, err = a.Job(t.Context(), "unknown")
	assert.True(t, errors.Is(err, state.ErrUnknown), "an unknown job: %v, want ErrUnknown", err)
}

func TestAdmin_RetryIsNewJob(t *testing.T) {
	r := newRig(t, nil)
	r.dies("p1", func(j *state.Job) { j.Class, j.Tenant, j.Deadline = state.Normal, "t1", time.Now().Add(time.Hour) })
	a := r.admin()
	letters, err := a.Letters(t.Context(), 0)
	if err != nil || len(letters) != 1 || letters[0].ID != "p1" ||
		!strings.Contains(letters[0].Reason, "gave up after 1 attempt: the server that ran it was lost") {
		t.Fatalf("dead letters are %+v, %v, want p1, given up after 1 attempt", letters, err)
	}
	object := func(old *state.State) json.RawMessage {
		assert.True(t, old != nil && old.Status == state.Failed, "the old state is %+v, want Status failed", old)
		return starting("p2")
	}
	assert.NoError(t, a.Retry(t.Context(), "p1", "p2", object))
	c := r.claims(r.Queue)
	if c.Job.ID != "p2" || string(c.Job.Body) != `{"input":{}}` || !c.Job.Deadline.IsZero() || c.Job.Attempts != 1 ||
		c.State.Hook == nil || c.State.Hook.URL != "http://hook.test/p1" {
		t.Errorf(`the new job is %+v with %+v, want ID p2, Body %q, Deadline zero, Attempts 1 and URL "http://hook.test/p1"`,
			c.Job, c.State, `{"input":{}}`)
	}
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p2")))
	r.eventually("its message is gone", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
	assert.Equal(t, "p2", r.state("p2").Status, state.Succeeded)
	assert.Equal(t, "p1", r.state("p1").Status, state.Failed)
	assert.Equal(t, "r.messages(r.names.dead())", r.messages(r.State.Names.Dead()), 0)
	assert.ErrorIs(t, "a second retry", a.Retry(t.Context(), "p1", "p3", object), state.ErrUnknown)
}

func TestAdmin_RetryThatFullQueueRefusesKeepsItsLetter(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Capacity = 1 })
	r.dies("p1")
	r.accept("fills")
	err := r.admin().Retry(t.Context(), "p1", "p2", func(*state.State) json.RawMessage { return starting("p2") })
	assert.True(t, errors.Is(err, state.ErrFull), "got %v, want ErrFull", err)
	if _, err := r.Find(t.Context(), "p2", renderer{}); !errors.Is(err, state.ErrUnknown) || r.messages(r.State.Names.Dead()) != 1 {
		t.Errorf("the refused job: %v; %d dead letters, want ErrUnknown and 1", err, r.messages(r.State.Names.Dead()))
	}
}

func TestAdmin_Purge(t *testing.T) {
	r := newRig(t, nil)
	for _, id := range []string{"p1", "p2", "p3"} {
		r.dies(id)
	}
	a := r.admin()
	for _, c := range []struct {
		id   string
		want int
	}{{"p2", 1}, {"p2", 0}, {"", 2}, {"", 0}} {
		n, err := a.Purge(t.Context(), c.id)
		assert.True(t, n == c.want && err == nil, "purge %q: %d, %v; want %d", c.id, n, err, c.want)
	}
}

// TestAdmin_AppliedLimitsAreThoseOfNextMember: it joins with the new settings, and one with the old ones is refused.
func TestAdmin_AppliedLimitsAreThoseOfNextMember(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	a := r.admin()
	capacity, bytes, tenant, lanes, wait := int64(50), int64(32<<20), int64(7), 2, 2*time.Second
	changes, err := a.Apply(t.Context(),
		admin.Limits{Capacity: &capacity, Bytes: &bytes, TenantCapacity: &tenant, Lanes: &lanes, AckWait: &wait})
	assert.NoError(t, err)
	assert.EqualNow(t, "changes", len(changes), 3+7) // three limits, six lanes, the webhooks
	next := r.State.Options
	next.Capacity, next.Bytes, next.TenantCapacity, next.Lanes, next.AckWait = capacity, bytes, tenant, lanes, wait
	r.member(next)
	var other *state.MismatchError
	_, err = store.Open(t.Context(), state.Connected(r.State.NC), r.State.Options)
	assert.True(t, errors.As(err, &other) && other.Field == "discard_new_per_subject",
		"a member with the old settings: %v, want an error of type *MismatchError and Field discard_new_per_subject", err)
	changes, err = a.Apply(t.Context(), admin.Limits{Capacity: &capacity})
	assert.True(t, err == nil && len(changes) == 0, "the same again: %+v, %v", changes, err)
	r.accept("p2")
	limit := 1
	small := int64(1)
	for field, l := range map[string]admin.Limits{
		"max_msgs": {Capacity: &small}, "max_bytes": {Bytes: &small},
		"lanes": {Lanes: &limit}, "max_msgs_per_subject": {TenantCapacity: &small},
	} {
		var refused *admin.LimitError
		if changes, err := a.Apply(t.Context(), l); !errors.As(err, &refused) || refused.Field != field || len(changes) != 0 {
			t.Errorf("a %s that is too small: %+v, %v, want an error of type *LimitError, Field %q and len(changes) empty",
				field, changes, err, field)
		}
	}
	assert.Equal(t, "jobs after the refusals", r.messages(r.State.Names.Jobs()), 2)
}

func TestAdmin_AttendWantsQueue(t *testing.T) {
	r := newRig(t, nil)
	_, err := admin.Open(t.Context(), state.Connected(r.State.NC), "other", 0, nil)
	var none *admin.NoQueueError
	assert.True(t, errors.As(err, &none) && len(none.Known) == 1 && none.Known[0] == "m",
		"got %v, want an error of type *NoQueueError, len(Known) 1 and Known[0] m", err)
	assert.NoError(t, r.State.JS.DeleteStream(t.Context(), r.State.Names.Dead()))
	var missing *state.MismatchError
	_, err = admin.Open(t.Context(), state.Connected(r.State.NC), "m", 0, nil)
	assert.True(t, errors.As(err, &missing) && missing.Stream == "the stream PINION_DEAD_m",
		`without its dead letters: %v, want an error of type *MismatchError and Stream "the stream PINION_DEAD_m"`, err)
}
