package store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// keysOf returns keys of 32 equal letters each.
func keysOf(t *testing.T, letters string) *state.Keys {
	t.Helper()
	var text strings.Builder
	for _, l := range letters {
		text.WriteString(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(l), 32))) + "\n")
	}
	path := filepath.Join(t.TempDir(), "keys")
	assert.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return assert.Must(state.ReadKeys(path))(t)
}

// storedHas reports whether some file of the store has a text.
func (r *rig) storedHas(text string) (found bool) {
	r.t.Helper()
	assert.NoError(r.t, filepath.WalkDir(r.server.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // NATS removes some meanwhile
		}
		data, err := os.ReadFile(path)
		found = found || err == nil && bytes.Contains(data, []byte(text))
		return nil
	}))
	return found
}

// TestSeal_SealedJobs: with keys, nothing that a client sent or gets is in the store, small or large, in jobs, results,
// webhooks and dead letters; without them it is.
func TestSeal_SealedJobs(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		r := startRig(t, func(o *state.Options) {
			if sealed {
				o.Keys = keysOf(t, "a")
			}
		})
		const word = "rumpelstilzchen"
		large := strings.Repeat(word, 50_000)
		r.accept("small", func(j *state.Job) { j.Body = []byte(word); j.Hook = &state.Hook{URL: "http://hook.test/" + word} })
		r.accept("large", func(j *state.Job) { j.Body = []byte(large) })
		bodies := make(chan string, 2)
		r.serve(r.other("b"), newRunner(1, func(_ context.Context, c *consume.Claim) (state.Status, []byte) {
			bodies <- string(c.Job.Body)
			return state.Succeeded, []byte(`{"id":"` + c.Job.ID + `","output":"` + string(c.Job.Body) + `"}`)
		}))
		r.eventually("both have run", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
		if a, b := <-bodies, <-bodies; len(a)+len(b) != len(word)+len(large) {
			t.Errorf("sealed %t: the bodies have %d and %d bytes: got %d, want %d", sealed, len(a), len(b), len(a)+len(b),
				len(word)+len(large))
		}
		for id, size := range map[string]int{"small": len(word), "large": len(large)} {
			s := r.state(id)
			assert.True(t, s.Status == state.Succeeded && strings.Count(string(s.Prediction), word) == size/len(word) &&
				s.Hook != nil,
				"sealed %t: %s is %.100s, want Status succeeded, Count %d and Hook non-nil", sealed, id, s.Prediction, size/len(word))
		}
		var posted []consume.Posting
		ctx, stop := context.WithCancel(t.Context())
		assert.NoError(t, r.Jobs.SendHooks(ctx, func(_ context.Context, p consume.Posting) time.Duration {
			if posted = append(posted, p); len(posted) == 2 {
				stop()
			}
			return 0
		}))
		assert.EqualNow(t, "webhooks", len(posted), 2)
		for _, p := range posted {
			assert.True(t, strings.Contains(string(p.Body), word) && strings.HasPrefix(p.Hook.URL, "http://hook.test/"),
				"sealed %t: the webhook is %.100s to %s, want the word in clear, to its receiver", sealed, p.Body, p.Hook.URL)
		}
		found := r.storedHas(word)
		assert.True(t, found != sealed, "sealed %t: the store has the word: %t, want another", sealed, found)
	}
}

// TestSeal_EndedWithoutKey: an operator without the key must not take the queue for one whose jobs have not ended.
func TestSeal_EndedWithoutKey(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Keys = keysOf(t, "a") })
	r.accept("p1")
	r.serve(r.Queue, newRunner(1, succeed))
	r.eventually("it has ended", func() bool { return r.state("p1").Status == state.Succeeded })
	jobs, err := r.admin().Ended(t.Context(), false, 0)
	assert.True(t, errors.Is(err, state.ErrSealed), "got %+v, %v, want %v", jobs, err, state.ErrSealed)
}

// TestSeal_SealedDeadLetter is sealed too, and its retry has the body and the webhook.
func TestSeal_SealedDeadLetter(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Keys = keysOf(t, "a") })
	r.accept("p1", func(j *state.Job) { j.Attempts = 1; j.Body = []byte("rumpelstilzchen") })
	r.claims(r.Queue)
	r.wantOutcome(r.other("b"), r.delivery(r.Queue), consume.Settled)
	a := assert.Must(admin.Open(t.Context(), state.Connected(r.State.NC), "m", 0, r.State.Options.Keys))(t)
	assert.NoError(t, a.Retry(t.Context(), "p1", "p2", func(*state.State) json.RawMessage { return starting("p2") }))
	c := r.claims(r.Queue)
	if string(c.Job.Body) != "rumpelstilzchen" || c.State.Hook == nil || c.State.Hook.URL != "http://hook.test/p1" ||
		r.storedHas("rumpelstilzchen") {
		t.Errorf("the retry is %+v with %+v, want it sealed in the store, with its webhook", c.Job, c.State.Hook)
	}
}

// TestSeal_KeysAreReplaced: what an old key sealed opens while it is in the file; without it the job waits for a server
// that has it.
func TestSeal_KeysAreReplaced(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Keys = keysOf(t, "a") })
	r.accept("p1")
	o := r.State.Options
	o.Keys, o.Server = keysOf(t, "b"), "b"
	without := r.member(o)
	r.wantOutcome(without, r.delivery(without), consume.Deferred)
	if _, err := without.Find(t.Context(), "p1", renderer{}); err == nil || !strings.Contains(err.Error(), "--jobs-key") {
		t.Errorf(`a look without the key: %v, want an error and err with "--jobs-key"`, err)
	}
	o.Keys = keysOf(t, "ba")
	assert.Equal(t, "the body", string(r.claims(r.member(o)).Job.Body), `{"input":{}}`)
}

func TestSeal_KeysThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "has no key", "c2hvcnQ=\n": "line 1 of", "\nnot base64": "line 2 of"} {
		path := filepath.Join(t.TempDir(), "keys")
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := state.ReadKeys(path)
		assert.True(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "c2hv"),
			`%q: got %v, want an error and err with %q and without "c2hv"`, text, err, want)
	}
}
