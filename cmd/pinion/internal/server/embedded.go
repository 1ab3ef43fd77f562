package server

import (
	"sync"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/natshost"
)

// embeddedQueues are the NATS servers of --nats embed, by their folders. Queues of the same folder share one.
type embeddedQueues struct {
	mu sync.Mutex
	by map[string]*embeddedQueue
}

type embeddedQueue struct {
	*natshost.Host
	users int
}

// open returns the NATS server of a queue, or nil if NATS is elsewhere. leave follows when the queue is left.
func (q *embeddedQueues) open(f *Server, queue string) (e *natshost.Host, leave func(), err error) {
	dir, embeds := f.s.Jobs.NATS.Embeds()
	if !embeds {
		return nil, func() {}, nil
	}
	if dir, err = config.EmbedFolder(dir, queue); err != nil {
		return nil, nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	opened := q.by[dir]
	if opened == nil {
		started, err := f.s.Jobs.NATS.Embed(dir, f.s.Jobs.SyncInterval(), len(f.models.every()), f.orphans, f.log)
		if err != nil {
			return nil, nil, err
		}
		if q.by == nil {
			q.by = map[string]*embeddedQueue{}
		}
		f.log.Info("the job queue's NATS server runs", "queue", queue, "folder", dir)
		opened = &embeddedQueue{Host: started}
		q.by[dir] = opened
	}
	opened.users++
	return opened.Host, func() { q.leave(dir, opened) }, nil
}

// leave ends a NATS server when no queue uses it any more.
func (q *embeddedQueues) leave(dir string, opened *embeddedQueue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if opened.users--; opened.users == 0 {
		delete(q.by, dir)
		opened.Close()
	}
}
