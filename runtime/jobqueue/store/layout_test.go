package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/tests/assert"
)

func TestLayout_MembersWithOtherSettingsAreRefused(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Host = nil }) // whose bytes depend on its disk
	for field, change := range map[string]func(*Options){
		"max_msgs":                func(o *Options) { o.Capacity = 7 },
		"max_bytes":               func(o *Options) { o.Bytes = 1 << 20 },
		"ack_wait":                func(o *Options) { o.AckWait = time.Minute },
		"discard_new_per_subject": func(o *Options) { o.TenantCapacity = 3 },
	} {
		o := r.o
		change(&o)
		_, err := Open(t.Context(), r.nc, o)
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || mismatch.Field != field || mismatch.Have == mismatch.Want ||
			!strings.Contains(err.Error(), mismatch.Want) {
			t.Errorf("%s: got %v, want an error of type *MismatchError that names the field and both values", field, err)
		}
	}
}

// TestLayout_MissingPartIsNotMadeAnew: not even where nothing was ever accepted.
func TestLayout_MissingPartIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	n := names{"m"}
	for _, part := range []string{
		n.jobs(), n.hooks(), n.dead(), n.states(), "OBJ_" + n.bodies(), "OBJ_" + n.results(),
		consumer(High, 0), consumer(Low, 0),
	} {
		t.Run(part, func(t *testing.T) {
			r := newRig(t, nil)
			remove := r.js.DeleteStream
			if strings.HasSuffix(part, "-0") {
				remove = func(ctx context.Context, name string) error { return r.js.DeleteConsumer(ctx, n.jobs(), name) }
			}
			assert.NoError(t, remove(t.Context(), part))
			_, err := Open(t.Context(), r.nc, r.o)
			assert.True(t, err != nil && strings.Contains(err.Error(), part+" of the job queue is missing"),
				"got %v, want an error and err with %q", err, part+" of the job queue is missing")
		})
	}
}

// TestLayout_HalfMadeQueueIsFinished: the server that made it was killed on the way.
func TestLayout_HalfMadeQueueIsFinished(t *testing.T) {
	t.Parallel()
	nc := startServer(t).connect(t)
	js, err := jetstream.New(nc)
	assert.NoError(t, err)
	streams := Options{}.withDefaults().streams()
	assert.Equal(t, "streams", len(streams), streamCount)
	for parts := 1; parts <= len(streams)+2; parts++ {
		o := Options{Model: fmt.Sprint("m", parts), Server: "a", Bytes: 1 << 20}.withDefaults()
		for _, c := range o.streams()[:min(parts, len(streams))] {
			_, err := js.CreateStream(t.Context(), c)
			assert.NoError(t, err)
		}
		for _, c := range o.allConsumers()[:max(0, parts-len(streams))] {
			_, err := js.CreateConsumer(t.Context(), c.stream, c.config)
			assert.NoError(t, err)
		}
		_, err := Open(t.Context(), nc, o)
		assert.True(t, err == nil, "after %d parts: got %v, want no error", parts, err)
	}
}

func TestLayout_MembersMayComeAtOnce(t *testing.T) {
	r := newRig(t, nil)
	o := r.o
	o.Model = "other"
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, err := Open(t.Context(), r.nc, o)
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
		err := checkServer(version)
		assert.True(t, (err == nil) == ok, "%q: %v, want %t", version, err, ok)
	}
}
