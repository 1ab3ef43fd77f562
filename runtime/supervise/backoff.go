package supervise

import "time"

// A worker that dies is replaced at once, the next ones after 1, 2, 4 … 30 s. After five deaths within a minute without
// a success in between, none is started.
const (
	firstDelay  = time.Second
	maxDelay    = 30 * time.Second
	deathLimit  = 5
	deathWindow = time.Minute
)

// backoff decides when a dead worker is replaced. The zero value is ready for use.
type backoff struct {
	deaths []time.Time // since the last success
}

// died records a death; served means that the worker had a success. It returns how long to wait before the next start,
// or false if no other worker is to be started.
func (b *backoff) died(now time.Time, served bool) (time.Duration, bool) {
	if served {
		b.deaths = b.deaths[:0]
	}
	b.deaths = append(b.deaths, now)
	recent := 0
	for _, t := range b.deaths {
		if now.Sub(t) < deathWindow {
			recent++
		}
	}
	if recent >= deathLimit {
		return 0, false
	}
	if len(b.deaths) == 1 {
		return 0, true
	}
	delay := firstDelay
	for i := 2; i < len(b.deaths) && delay < maxDelay; i++ {
		delay *= 2
	}
	return min(delay, maxDelay), true
}
