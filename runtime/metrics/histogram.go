package metrics

import (
	"math"
	"sync/atomic"
	"time"
)

// seconds are the bounds of the histograms of times: 100 µs to 10 min.
func seconds() []time.Duration {
	const µs, ms, s = time.Microsecond, time.Millisecond, time.Second
	return []time.Duration{
		100 * µs, 250 * µs, 500 * µs, ms, 2500 * µs, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		s, 2500 * ms, 5 * s, 10 * s, 30 * s, 60 * s, 120 * s, 300 * s, 600 * s,
	}
}

// sizes are the bounds of the histogram of batch sizes.
func sizes() []time.Duration { return []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024} }

// histogram counts integers, nanoseconds or items, by the first bound that is not below them.
type histogram struct {
	per     float64 // the unit: this many are 1 on the page
	bounds  []time.Duration
	labels  []string // le="…", of each bound and of infinity
	open    []string // the same in OpenMetrics
	buckets []atomic.Uint64
	sum     atomic.Int64 // in nanoseconds it can count 292 years
}

func newHistogram(bounds []time.Duration, per float64) *histogram {
	h := &histogram{per: per, bounds: bounds, buckets: make([]atomic.Uint64, len(bounds)+1)}
	for i := range h.buckets {
		le := math.Inf(1)
		if i < len(bounds) {
			le = h.value(int64(bounds[i]))
		}
		h.labels = append(h.labels, `le="`+string(appendFloat(nil, le, false))+`"`)
		h.open = append(h.open, `le="`+string(appendFloat(nil, le, true))+`"`)
	}
	return h
}

// like returns an empty histogram that shares the bounds.
func (h *histogram) like() *histogram {
	return &histogram{per: h.per, bounds: h.bounds, labels: h.labels, open: h.open, buckets: make([]atomic.Uint64, len(h.buckets))}
}

// newTimes returns a histogram of times.
func newTimes() *histogram { return newHistogram(seconds(), 1e9) }

// value converts an integer to the page's unit.
func (h *histogram) value(n int64) float64 { return float64(n) / h.per }

// observe counts n; a negative one, after a change of the clock, counts as 0.
func (h *histogram) observe(n time.Duration) {
	n = max(n, 0)
	low, high := 0, len(h.bounds)
	for low < high {
		if mid := int(uint(low+high) >> 1); h.bounds[mid] < n {
			low = mid + 1
		} else {
			high = mid
		}
	}
	h.buckets[low].Add(1)
	h.sum.Add(int64(n))
}

// write adds the histogram's samples to the page.
func (h *histogram) write(p *page, name, labels string) {
	le := h.labels
	if p.open {
		le = h.open
	}
	count := uint64(0)
	for i := range h.buckets {
		count += h.buckets[i].Load()
		p.whole(name+"_bucket", join(labels, le[i]), count)
	}
	p.float(name+"_sum", labels, h.value(h.sum.Load()))
	p.whole(name+"_count", labels, count)
}

// count returns how many were counted.
func (h *histogram) count() (n uint64) {
	for i := range h.buckets {
		n += h.buckets[i].Load()
	}
	return n
}
