package store_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestVersion_JobGoesToItsConsumer: only a server of the version gets a job that names it, by its class, and the
// consumers of versions are not lanes.
func TestVersion_JobGoesToItsConsumer(t *testing.T) {
	r := newRig(t, nil)
	accept := func(id, version string, class state.Class) {
		j := state.Job{ID: id, Kind: state.Prediction, Class: class, Attempts: 1, Version: version}
		_, err := r.Accept(t.Context(), j, starting(id), false)
		assert.NoError(t, err)
	}
	for id, version := range map[string]string{"a": "2", "b": "2.0-rc_1", "c": "2", "d": ""} {
		accept(id, version, state.Normal)
	}
	accept("urgent", "2", state.High)

	ran := make(chan string, 10)
	s := r.Queue.Jobs.Serve(newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		ran <- c.Job.ID + " " + c.Job.Version + " " + c.State.ModelVersion
		return succeed(ctx, c)
	}), slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, "2") }()
	assert.Equal(t, "first", <-ran, "urgent 2 2")
	got := map[string]bool{<-ran: true, <-ran: true}
	assert.True(t, got["a 2 2"] && got["c 2 2"], "got %v, want a and c of version 2", got)
	r.eventually("two jobs are left", func() bool {
		info, err := r.State.JobsInfo(t.Context())
		return err == nil && info.State.Msgs == 2
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want no error", err)
	}
	s.Wait()

	info := assert.Must(r.State.JobsInfo(t.Context()))(t)
	if lanes, err := state.LanesOf(t.Context(), r.State.Jobs, info); err != nil || lanes != 1 {
		t.Errorf("got %d lanes and %v with %d consumers, want 1", lanes, err, info.State.Consumers)
	}
	operator := assert.Must(admin.Open(t.Context(), state.Connected(r.State.NC), "m", 0, nil))(t)
	entries := assert.Must(operator.Jobs(t.Context(), state.Normal, "", 0))(t)
	assert.EqualNow(t, "jobs", len(entries), 2)
	for _, e := range entries {
		if want := map[string]string{"b": "2.0-rc_1", "d": ""}[e.ID]; e.State.ModelVersion != want || e.Class != state.Normal {
			t.Errorf("%s: got version %q and class %q, want %q and std", e.ID, e.State.ModelVersion, e.Class, want)
		}
	}
}

// TestVersion_SchemasAreListed by the versions' own names.
func TestVersion_SchemasAreListed(t *testing.T) {
	r := newRig(t, nil)
	for _, version := range []string{"", "1", "2.0"} {
		s := state.Schema{Model: version, Predict: true, OpenAPI: json.RawMessage(`{"v":"` + version + `"}`)}.Revised()
		assert.NoError(t, r.State.WriteSchema(t.Context(), s))
	}
	schemas := assert.Must(r.State.ReadVersions(t.Context()))(t)
	assert.EqualNow(t, "versions", len(schemas), 2)
	for _, s := range schemas {
		want := `{"v":"` + s.Model + `"}`
		assert.True(t, string(s.OpenAPI) == want, "got %s of version %s, want %s", s.OpenAPI, s.Model, want)
	}
}
