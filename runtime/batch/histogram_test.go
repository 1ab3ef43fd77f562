package batch

import (
	"math"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestHistogram_BinsCoverAllTimes(t *testing.T) {
	for d := time.Duration(0); d < 2*time.Minute; d += d/50 + 1 {
		b := binOf(d)
		assert.TrueNow(t, d >= edge(b) && (b >= bins-1 || d < edge(b+1)),
			"%v is in bin %d, from %v to %v, want at least %v and less than %v", d, b, edge(b), edge(b+1), edge(b), edge(b+1))
	}
	assert.Equal(t, "bin of -1", binOf(-1), 0)
	assert.Equal(t, "bin of the largest time", binOf(math.MaxInt64), bins-1)
	assert.True(t, edge(bins-1) >= time.Minute, "the last bin begins at %v, want at least %v", edge(bins-1), time.Minute)
}

func TestHistogram_Counts(t *testing.T) {
	var h histogram
	for _, d := range []time.Duration{0, 10 * us, 10 * us, 3 * ms, time.Hour} {
		h.add(d)
	}
	for d, want := range map[time.Duration]float64{0: 5, 5 * us: 4, 20 * us: 2, 10 * ms: 1, time.Minute: 1} {
		got := h.after(d)
		assert.True(t, math.Abs(got-want) <= 1e-9, "after %v: %v, want %v", d, got, want)
	}
	h.halve()
	assert.Equal(t, "halved: total", h.total, 2.5)
	assert.Equal(t, "halved: count after 20 us", h.after(20*us), 1)
}
