package slot

import "time"

// meter measures how many calls end in a second while others wait, which is what one that was refused
// can hope for. Guarded by pool.mu.
type meter struct {
	since time.Time     // when the stretch in progress began; zero: nothing waits
	busy  time.Duration // of the stretches before it
	ended int
}

const (
	meterFew  = 3                // calls that must have ended before their rate says anything
	meterKeep = 30 * time.Second // of waiting: what is older counts half
	meterMany = 64               // unless few ended in that time
)

// begin: something waits from now on.
func (m *meter) begin(now time.Time) {
	if m.since.IsZero() {
		m.since = now
	}
}

// pause: nothing waits any more.
func (m *meter) pause(now time.Time) {
	if !m.since.IsZero() {
		m.busy += now.Sub(m.since)
		m.since = time.Time{}
	}
}

// end: a call has ended.
func (m *meter) end(now time.Time) {
	if m.since.IsZero() {
		return
	}
	m.ended++
	m.busy += now.Sub(m.since)
	m.since = now
	if m.busy > meterKeep && m.ended > meterMany {
		m.busy /= 2
		m.ended /= 2
	}
}

// each is the time between two ends, or 0 where that is not known.
func (m *meter) each() time.Duration {
	if m.ended < meterFew {
		return 0
	}
	return m.busy / time.Duration(m.ended)
}
