package slot

import "time"

// throughput measures how many calls end in a second while others wait: the rate that a refused client can hope for.
// Guarded by pool.mu.
type throughput struct {
	since time.Time     // when the stretch in progress began; zero means no call waits
	busy  time.Duration // of earlier stretches
	ended int
}

const (
	minEnded   = 3                // fewer ended calls say nothing about the rate
	fullWeight = 30 * time.Second // of waiting; older samples count half
	manyEnded  = 64               // unless fewer ended in that time
)

// start records that calls wait from now on.
func (t *throughput) start(now time.Time) {
	if t.since.IsZero() {
		t.since = now
	}
}

// pause records that no call waits any more.
func (t *throughput) pause(now time.Time) {
	if !t.since.IsZero() {
		t.busy += now.Sub(t.since)
		t.since = time.Time{}
	}
}

func (t *throughput) callEnded(now time.Time) {
	if t.since.IsZero() {
		return
	}
	t.ended++
	t.busy += now.Sub(t.since)
	t.since = now
	if t.busy > fullWeight && t.ended > manyEnded {
		t.busy /= 2
		t.ended /= 2
	}
}

// perCall returns the time between two ends, or 0 if it is not known.
func (t *throughput) perCall() time.Duration {
	if t.ended < minEnded {
		return 0
	}
	return t.busy / time.Duration(t.ended)
}
