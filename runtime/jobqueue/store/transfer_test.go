package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/tests/assert"
)

func TestWithin_EndsAfterSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithIdleTimeout(4*time.Second, 0)
		defer cancel()
		below, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		for range 10 {
			time.Sleep(3 * time.Second)
			noteProgress(below)
		}
		synctest.Wait()
		assert.NoError(t, errors.Join(ctx.Err(), below.Err()), "while something moved it ended")
		if end, ok := below.Deadline(); !ok || time.Until(end) != 4*time.Second {
			t.Errorf("got the deadline %v, want it 4 s after what moved last", end)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || below.Err() == nil {
			t.Errorf("after silence: got %v and %v, want that the deadline has passed", ctx.Err(), below.Err())
		}
		noteProgress(below)
		if ctx.Err() == nil {
			t.Error("what ended goes on: got no error, want an error")
		}
	})
}

func TestWithin_WaitsForLargeMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithIdleTimeout(time.Second, MaxObject)
		defer cancel()
		time.Sleep(objectFrom / minRate * time.Second)
		synctest.Wait()
		if err := ctx.Err(); err != nil {
			t.Errorf("got %v, want that it waits for %d bytes", err, objectFrom)
		}
	})
}
