package jobqueue

import (
	"context"
	"maps"
	"slices"
	"time"

	"pinion/runtime/jobqueue/store/state"
)

// NATS may come back without what it stored, if its store is not on a volume. Then the members make the queue again, as
// at their start: without it no job would be accepted until one of them is started again.

// reopenInterval is how long a member waits before it tries again to open the queue.
const reopenInterval = 5 * time.Second

// watchReconnects opens the queue again after each reconnect, until the member leaves.
func (m *Member) watchReconnects(connected <-chan struct{}) {
	for {
		select {
		case <-connected:
		case <-m.sending.Done():
			return
		}
		for m.conn.IsConnected() {
			err := m.reopen()
			if err == nil || m.sending.Err() != nil {
				break
			}
			m.o.Logger.Warn("cannot open the job queue after a reconnect", "model", m.o.Queue.Model, "error", err)
			if !state.Temporary(err) {
				break
			}
			select {
			case <-time.After(reopenInterval):
			case <-m.sending.Done():
				return
			}
		}
	}
}

// reopen makes the queue if it is gone, and has the schemas written again if they are.
func (m *Member) reopen() error {
	ctx, cancel := context.WithTimeout(m.sending, joinTimeout)
	defer cancel()
	q := m.queue.Load()
	m.mu.Lock()
	versions := slices.Collect(maps.Keys(m.taken))
	m.mu.Unlock()
	gone, err := q.State.Remake(ctx, versions)
	if gone {
		m.o.Logger.Warn("NATS has lost the job queue, with its jobs: an empty one is made", "model", m.o.Queue.Model)
	}
	if err != nil || m.o.Schema == nil {
		return err
	}
	s, err := q.State.ReadSchema(ctx)
	if err == nil && s.Revision == "" {
		m.schemas.forget()
	}
	return err
}
