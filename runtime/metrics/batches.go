package metrics

import (
	"sync/atomic"
	"time"
)

type batches struct {
	any  atomic.Bool
	size *histogram
	wait *histogram
}

func (b *batches) init() { b.size, b.wait = newHistogram(sizes(), 1), newTimes() }

// Batch records a batch: how many predictions it had, and how long the oldest of them waited for it. The series of
// batches appear with the first batch.
func (s *Set) Batch(size int, wait time.Duration) {
	s.batches.size.observe(time.Duration(size))
	s.batches.wait.observe(wait)
	s.batches.any.Store(true)
}

func (b *batches) gather(g *gathered) {
	if !b.any.Load() {
		return
	}
	g.histogram("pinion_batch_size", "Predictions in one batch.", b.size)
	g.histogram("pinion_batch_wait_seconds", "Time for which a batch's oldest prediction was held back for others.",
		b.wait)
}
