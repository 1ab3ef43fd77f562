package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

func TestWithin_EndsAfterSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := state.WithIdleTimeout(4*time.Second, 0)
		defer cancel()
		below, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		for range 10 {
			time.Sleep(3 * time.Second)
			state.NoteProgress(below)
		}
		synctest.Wait()
		assert.NoError(t, errors.Join(ctx.Err(), below.Err()), "while something moved it ended")
		end, ok := below.Deadline()
		assert.True(t, ok && time.Until(end) == 4*time.Second, "got the deadline %v, want it 4 s after what moved last", end)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.True(t, errors.Is(ctx.Err(), context.DeadlineExceeded) && below.Err() != nil,
			"after silence: got %v and %v, want that the deadline has passed", ctx.Err(), below.Err())
		state.NoteProgress(below)
		assert.True(t, ctx.Err() != nil, "what ended goes on")
	})
}

func TestWithin_WaitsForLargeMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := state.WithIdleTimeout(time.Second, state.MaxObject)
		defer cancel()
		time.Sleep(state.ObjectFrom / state.MinRate * time.Second)
		synctest.Wait()
		err := ctx.Err()
		assert.True(t, err == nil, "got %v, want that it waits for %d bytes", err, state.ObjectFrom)
	})
}
