package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

func TestLayout_MembersWithOtherSettingsAreRefused(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Host = nil }) // whose bytes depend on its disk
	for field, change := range map[string]func(*state.Options){
		"max_msgs":                func(o *state.Options) { o.Capacity = 7 },
		"max_bytes":               func(o *state.Options) { o.Bytes = 1 << 20 },
		"ack_wait":                func(o *state.Options) { o.AckWait = time.Minute },
		"discard_new_per_subject": func(o *state.Options) { o.TenantCapacity = 3 },
	} {
		o := r.State.Options
		change(&o)
		_, err := store.Open(t.Context(), state.Connected(r.State.NC), o)
		var mismatch *state.MismatchError
		if !errors.As(err, &mismatch) || mismatch.Field != field || mismatch.Have == mismatch.Want ||
			!strings.Contains(err.Error(), mismatch.Want) {
			t.Errorf("%s: got %v, want an error of type *MismatchError that names the field and both values", field, err)
		}
	}
}

// TestLayout_MissingPartIsNotMadeAnew: not even where nothing was ever accepted.
func TestLayout_MissingPartIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	n := state.Names{Model: "m"}
	for _, part := range []string{
		n.Jobs(), n.Hooks(), n.Dead(), n.States(), "OBJ_" + n.Bodies(), "OBJ_" + n.Results(),
		state.Consumer(state.High, 0), state.Consumer(state.Low, 0),
	} {
		t.Run(part, func(t *testing.T) {
			r := newRig(t, nil)
			remove := r.State.JS.DeleteStream
			if strings.HasSuffix(part, "-0") {
				remove = func(ctx context.Context, name string) error { return r.State.JS.DeleteConsumer(ctx, n.Jobs(), name) }
			}
			assert.NoError(t, remove(t.Context(), part))
			_, err := store.Open(t.Context(), state.Connected(r.State.NC), r.State.Options)
			assert.True(t, err != nil && strings.Contains(err.Error(), part+" of the job queue is missing"),
				"got %v, want an error and err with %q", err, part+" of the job queue is missing")
		})
	}
}

// TestLayout_HalfMadeQueueIsFinished: the server that made it was killed on the way.
func TestLayout_HalfMadeQueueIsFinished(t *testing.T) {
	t.Parallel()
	nc := startServer(t).connect(t)
	js := assert.Must(jetstream.New(nc))(t)
	streams := state.Options{}.WithDefaults().Streams()
	assert.Equal(t, "streams", len(streams), state.StreamCount)
	for parts := 1; parts <= len(streams)+2; parts++ {
		o := state.Options{Model: fmt.Sprint("m", parts), Server: "a", Bytes: 1 << 20}.WithDefaults()
		for _, c := range o.Streams()[:min(parts, len(streams))] {
			_, err := js.CreateStream(t.Context(), c)
			assert.NoError(t, err)
		}
		for _, c := range o.AllConsumers()[:max(0, parts-len(streams))] {
			_, err := js.CreateConsumer(t.Context(), c.Stream, c.Config)
			assert.NoError(t, err)
		}
		_, err := store.Open(t.Context(), state.Connected(nc), o)
		assert.True(t, err == nil, "after %d parts: got %v, want no error", parts, err)
	}
}

func TestLayout_MembersMayComeAtOnce(t *testing.T) {
	r := newRig(t, nil)
	o := r.State.Options
	o.Model = "other"
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, err := store.Open(t.Context(), state.Connected(r.State.NC), o)
			assert.True(t, err == nil, "got %v, want no error", err)
		}()
	}
	wg.Wait()
}

func TestLayout_OldServersAreRefused(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"2.13.9": false, "1.4.0": false, "": false, "2.14.0": true, "2.15.2": true,
		"3.0.0": true,
	} {
		err := state.CheckServer(version)
		assert.True(t, (err == nil) == ok, "%q: %v, want %t", version, err, ok)
	}
}
