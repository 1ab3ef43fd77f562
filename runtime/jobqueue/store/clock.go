package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Deadlines are stored in the time of NATS, and ages of messages are counted in it: the clocks of two members may
// differ by hours. Job.Deadline is in this process's time.

// clock is the time of NATS.
type clock struct {
	last    atomic.Pointer[reading]
	reading atomic.Bool // a goroutine reads it
}

// reading is what a clock of NATS showed, and when.
type reading struct{ nats, local time.Time }

// clockInterval is how often the clock of NATS is read while it is needed: it may be set, and a suspended machine does
// not count the time.
const clockInterval = 30 * time.Second

// set notes what the clock showed in an answer to a question that was sent at asked.
func (c *clock) set(asked, shown time.Time) {
	c.last.Store(&reading{nats: shown, local: asked.Add(time.Since(asked) / 2)})
}

// now returns the time of NATS; before the first reading, this process's.
func (c *clock) now() time.Time {
	r := c.last.Load()
	if r == nil {
		return time.Now()
	}
	return r.nats.Add(time.Since(r.local))
}

// jobsInfo looks at the stream of the jobs, and notes the time of NATS.
func (q *Queue) jobsInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	asked := time.Now()
	info, err := q.jobs.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the stream %s: %w", q.names.jobs(), err)
	}
	q.clock.set(asked, info.TimeStamp)
	return info, nil
}

// now returns the time of NATS. If it was read long ago, it is read again; if NATS does not answer, the last reading
// counts.
func (q *Queue) now(ctx context.Context) time.Time {
	last := q.clock.last.Load()
	if (last == nil || time.Since(last.local) > clockInterval) && q.clock.reading.CompareAndSwap(false, true) {
		_, _ = q.jobsInfo(ctx)
		q.clock.reading.Store(false)
	}
	return q.clock.now()
}

// toNATS converts a time of this process. The zero time stays what it is.
func (q *Queue) toNATS(ctx context.Context, local time.Time) time.Time {
	if local.IsZero() {
		return local
	}
	return q.now(ctx).Add(time.Until(local))
}

// fromNATS is the reverse of toNATS.
func (q *Queue) fromNATS(ctx context.Context, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Now().Add(t.Sub(q.now(ctx)))
}
