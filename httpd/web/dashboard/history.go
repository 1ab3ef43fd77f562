package dashboard

import (
	"math"
	"time"

	"pinion/runtime/metrics"
)

const (
	step    = time.Second
	kept    = 900 // points of the history: 15 min
	shortly = 10  // steps that a point's quantiles cover
	minute  = 60  // steps that Recent covers
)

// point is one second of the history. Rates are per second. It is sent as a list in the order of columns.
type point struct {
	at                                   int64 // seconds since 1970
	succeeded, failed, refused, canceled float64
	p50, p90, p99                        float64 // seconds, of the last 10 s; NaN means none ended
	inFlight, queued                     int
	batch                                float64 // mean size; NaN means there was none
}

var columns = []string{
	"at", "succeeded", "failed", "refused", "canceled", "p50", "p90", "p99", "in_flight", "queued", "batch",
}

func (p *point) list() []any {
	return []any{
		p.at, round(p.succeeded), round(p.failed), round(p.refused), round(p.canceled), round(p.p50), round(p.p90),
		round(p.p99),
		p.inFlight, p.queued, round(p.batch),
	}
}

// sample is the figures at one moment.
type sample struct {
	at time.Time
	metrics.Figures
}

// history turns samples into points. One goroutine uses it.
type history struct {
	samples []sample // the last minute and the one before it, the oldest first
	points  []point  // the oldest first
	// usual is the p99, in seconds, of the model's time in the last minute in which a prediction succeeded; NaN means
	// none has.
	usual float64
}

// add takes the figures of this moment and returns its point, or false if it is the first.
func (h *history) add(now sample, load metrics.Load) (point, bool) {
	h.samples = append(h.samples, now)
	if len(h.samples) > minute+1 {
		h.samples = append(h.samples[:0], h.samples[1:]...)
	}
	if len(h.samples) < 2 {
		h.usual = math.NaN()
		return point{}, false
	}
	last := h.since(1)
	p := point{
		at:        now.at.Unix(),
		succeeded: last.rate(last.Succeeded), failed: last.rate(last.Failed), refused: last.rate(last.Refused),
		canceled: last.rate(last.Canceled),
		inFlight: load.InFlight, queued: load.Queued, batch: mean(last.BatchSize),
	}
	total := h.since(shortly).Total
	if usual := quantile(h.since(minute).PredictSucceeded, 0.99); !math.IsNaN(usual) {
		h.usual = usual
	}
	p.p50, p.p90, p.p99 = quantile(total, 0.5), quantile(total, 0.9), quantile(total, 0.99)
	if len(h.points) == kept {
		h.points = append(h.points[:0], h.points[1:]...)
	}
	h.points = append(h.points, p)
	return p, true
}

// window is what was counted between two samples.
type window struct {
	metrics.Figures
	seconds float64
}

func (w window) rate(n uint64) float64 { return float64(n) / w.seconds }

// since returns the window of the last steps, or of as many as there are. There must be at least two samples.
func (h *history) since(steps int) window {
	now := &h.samples[len(h.samples)-1]
	then := &h.samples[max(0, len(h.samples)-1-steps)]
	w := window{seconds: math.Max(now.at.Sub(then.at).Seconds(), 1e-3)}
	w.Succeeded, w.Failed = now.Succeeded-then.Succeeded, now.Failed-then.Failed
	w.Refused, w.Canceled = now.Refused-then.Refused, now.Canceled-then.Canceled
	w.Reasons = map[string]uint64{}
	for reason, n := range now.Reasons {
		if n -= then.Reasons[reason]; n > 0 {
			w.Reasons[reason] = n
		}
	}
	w.Total, w.Predict = minus(now.Total, then.Total), minus(now.Predict, then.Predict)
	w.PredictSucceeded = minus(now.PredictSucceeded, then.PredictSucceeded)
	w.Queue, w.Overhead = minus(now.Queue, then.Queue), minus(now.Overhead, then.Overhead)
	w.FirstOutput, w.NextOutput = minus(now.FirstOutput, then.FirstOutput), minus(now.NextOutput, then.NextOutput)
	w.LostWebhooks = now.LostWebhooks - then.LostWebhooks
	w.BatchSize = minus(now.BatchSize, then.BatchSize)
	w.MethodSizes = make(map[string]metrics.Buckets, len(now.MethodSizes))
	for method, sizes := range now.MethodSizes {
		if before, ok := then.MethodSizes[method]; ok {
			sizes = minus(sizes, before)
		}
		w.MethodSizes[method] = sizes
	}
	return w
}

func minus(a, b metrics.Buckets) metrics.Buckets {
	d := metrics.Buckets{Bounds: a.Bounds, Counts: make([]uint64, len(a.Counts)), Sum: a.Sum - b.Sum}
	for i := range d.Counts {
		d.Counts[i] = a.Counts[i] - b.Counts[i]
	}
	return d
}

func count(d metrics.Buckets) (n uint64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// mean returns the mean value in the histogram's unit; NaN means there is none.
func mean(d metrics.Buckets) float64 { return float64(d.Sum) / float64(count(d)) }

// longest returns a bound of the times in the last bucket that has any, in seconds: what is left of the sum when all
// others took as little as their buckets allow. Of a few times it is far less than the bucket's own bound.
func longest(d metrics.Buckets) float64 {
	left, low := time.Duration(d.Sum), time.Duration(0)
	for i, c := range d.Counts {
		if i > 0 {
			left -= time.Duration(c) * d.Bounds[i-1]
		}
		if i > 0 && c > 0 {
			low = d.Bounds[i-1]
		}
	}
	return (left + low).Seconds()
}

// quantile returns a quantile of times, in seconds; NaN means there are none. It is interpolated within its bucket, as
// Prometheus' histogram_quantile does it, but exceeds no time that there can be. Above the last bound it is that bound.
func quantile(d metrics.Buckets, q float64) float64 {
	n := count(d)
	if n == 0 {
		return math.NaN()
	}
	rank, below := q*float64(n), 0.0
	for i, c := range d.Counts {
		if below+float64(c) < rank || c == 0 {
			below += float64(c)
			continue
		}
		if i == len(d.Bounds) {
			break
		}
		low := 0.0
		if i > 0 {
			low = d.Bounds[i-1].Seconds()
		}
		high := max(low, min(d.Bounds[i].Seconds(), longest(d))) // the sum may be older than the counts
		return low + (high-low)*(rank-below)/float64(c)
	}
	return d.Bounds[len(d.Bounds)-1].Seconds()
}

// round keeps four digits, for short JSON. What is not a number becomes null.
func round(x float64) any {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return nil
	case x == 0:
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-3)
	if unit < 1 { // a division is exact where the product is not
		return math.Round(x/unit) / math.Round(1/unit)
	}
	return math.Round(x/unit) * unit
}
