package metrics

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/trace"
)

// seconds returns the bounds of the histograms of times: 100 µs to 10 min.
func seconds() []time.Duration {
	const µs, ms, s = time.Microsecond, time.Millisecond, time.Second
	return []time.Duration{
		100 * µs, 250 * µs, 500 * µs, ms, 2500 * µs, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		s, 2500 * ms, 5 * s, 10 * s, 30 * s, 60 * s, 120 * s, 300 * s, 600 * s,
	}
}

func sizes() []time.Duration { return []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024} }

type bounds struct {
	per    float64 // the unit: this many are 1 to readers
	of     []time.Duration
	values []float64
	text   []string // le="…", of each bound and of infinity
	open   []string // the same in OpenMetrics
}

// histogram counts integers, nanoseconds or items, by the first bound that is not below them.
type histogram struct {
	*bounds
	buckets   []atomic.Uint64
	sum       atomic.Int64             // in nanoseconds it can count 292 years
	exemplars atomic.Pointer[[]latest] // of the buckets; nil means no trace was sampled
}

// latest is an exemplar of a bucket. A newer one takes its memory once it is a second old: readers come less often.
type latest struct {
	at       atomic.Int64 // its time in nanoseconds, so that most observations take no lock
	mu       sync.Mutex
	exemplar Exemplar
}

func newHistogram(of []time.Duration, per float64) *histogram {
	b := &bounds{per: per, of: of}
	for i := range len(of) + 1 {
		le := math.Inf(1)
		if i < len(of) {
			le = b.value(int64(of[i]))
			b.values = append(b.values, le)
		}
		b.text = append(b.text, `le="`+string(appendFloat(nil, le, false))+`"`)
		b.open = append(b.open, `le="`+string(appendFloat(nil, le, true))+`"`)
	}
	return b.histogram()
}

func (b *bounds) histogram() *histogram {
	return &histogram{bounds: b, buckets: make([]atomic.Uint64, len(b.of)+1)}
}

func newTimes() *histogram { return newHistogram(seconds(), 1e9) }

// value converts an integer to the readers' unit.
func (b *bounds) value(n int64) float64 { return float64(n) / b.per }

// observeIn counts n, which belongs to a span of a sampled trace and was observed then, unless in is nil.
func (h *histogram) observeIn(n time.Duration, in *trace.Context, at time.Time) {
	bucket := h.observe(n)
	if in == nil {
		return
	}
	if h.exemplars.Load() == nil {
		of := make([]latest, len(h.buckets))
		h.exemplars.CompareAndSwap(nil, &of)
	}
	l, now := &(*h.exemplars.Load())[bucket], at.UnixNano()
	if uint64(now-l.at.Load()) < uint64(time.Second) {
		return
	}
	l.at.Store(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exemplar = Exemplar{Trace: *in, Value: h.value(int64(max(n, 0))), At: at}
}

// observe counts n and returns its bucket. A negative n, after a change of the clock, counts as 0.
func (h *histogram) observe(n time.Duration) (bucket int) {
	n = max(n, 0)
	low, high := 0, len(h.of)
	for low < high {
		if mid := int(uint(low+high) >> 1); h.of[mid] < n {
			low = mid + 1
		} else {
			high = mid
		}
	}
	h.buckets[low].Add(1)
	h.sum.Add(int64(n))
	return low
}

// sumOf returns the state of several histograms with the same bounds together.
func sumOf(parts ...*histogram) *Distribution {
	d := &Distribution{bounds: parts[0].bounds, Counts: make([]uint64, len(parts[0].buckets))}
	var sum int64
	for _, h := range parts {
		for i := range h.buckets {
			n := h.buckets[i].Load()
			d.Counts[i] += n
			d.Count += n
		}
		sum += h.sum.Load()
		d.addExemplars(h)
	}
	d.Sum = d.bounds.value(sum)
	return d
}

// addExemplars keeps the newest exemplar of each bucket.
func (d *Distribution) addExemplars(h *histogram) {
	of := h.exemplars.Load()
	if of == nil {
		return
	}
	if d.Exemplars == nil {
		d.Exemplars = make([]*Exemplar, len(d.Counts))
	}
	for i := range *of {
		l := &(*of)[i]
		l.mu.Lock()
		e := l.exemplar
		l.mu.Unlock()
		if !e.At.IsZero() && (d.Exemplars[i] == nil || e.At.After(d.Exemplars[i].At)) {
			d.Exemplars[i] = &e
		}
	}
}

func (h *histogram) count() (n uint64) {
	for i := range h.buckets {
		n += h.buckets[i].Load()
	}
	return n
}
