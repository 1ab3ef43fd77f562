package state

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Deadlines are stored in the time of NATS, and ages of messages are counted in it: the clocks of two members may
// differ by hours. Job.Deadline is in this process's time.

// Clock is the time of NATS.
type Clock struct {
	Last    atomic.Pointer[reading]
	reading atomic.Bool // a goroutine reads it
}

// reading is what a clock of NATS showed, and when.
type reading struct{ nats, local time.Time }

// clockInterval is how often the clock of NATS is read while it is needed: it may be set, and a suspended machine does
// not count the time.
const clockInterval = 30 * time.Second

// Set notes what the clock showed in an answer to a question that was sent at asked.
func (c *Clock) Set(asked, shown time.Time) {
	c.Last.Store(&reading{nats: shown, local: asked.Add(time.Since(asked) / 2)})
}

// Now returns the time of NATS; before the first reading, this process's.
func (c *Clock) Now() time.Time {
	r := c.Last.Load()
	if r == nil {
		return time.Now()
	}
	return r.nats.Add(time.Since(r.local))
}

// JobsInfo looks at the stream of the jobs, and notes the time of NATS.
func (q *Store) JobsInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	asked := time.Now()
	info, err := q.Jobs.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the stream %s: %w", q.Names.Jobs(), err)
	}
	q.Clock.Set(asked, info.TimeStamp)
	return info, nil
}

// Now returns the time of NATS. If it was read long ago, it is read again; if NATS does not answer, the last reading
// counts.
func (q *Store) Now(ctx context.Context) time.Time {
	last := q.Clock.Last.Load()
	if (last == nil || time.Since(last.local) > clockInterval) && q.Clock.reading.CompareAndSwap(false, true) {
		_, _ = q.JobsInfo(ctx)
		q.Clock.reading.Store(false)
	}
	return q.Clock.Now()
}

// ToNATS converts a time of this process. The zero time stays what it is.
func (q *Store) ToNATS(ctx context.Context, local time.Time) time.Time {
	if local.IsZero() {
		return local
	}
	return q.Now(ctx).Add(time.Until(local))
}

// FromNATS is the reverse of toNATS.
func (q *Store) FromNATS(ctx context.Context, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Now().Add(t.Sub(q.Now(ctx)))
}
