package loadgen

import (
	"math"
	"math/bits"
	"time"
)

// Times are counted in buckets, 64 to each power of two of nanoseconds: a quantile is true to 1.6 %, and the memory
// does not grow with the requests.
const (
	fineBits = 6
	fine     = 1 << fineBits
)

// Histogram counts times. The zero value is empty.
type Histogram struct {
	counts [(64 - fineBits) * fine]uint64
	n      uint64
	sum    time.Duration
	max    time.Duration
}

func bucket(d time.Duration) int {
	u := uint64(max(d, 0))
	if u < fine {
		return int(u)
	}
	shift := bits.Len64(u) - fineBits - 1
	return (shift+1)*fine + int(u>>shift) - fine
}

// top returns the longest time that falls into a bucket.
func top(i int) time.Duration {
	if i < fine {
		return time.Duration(i)
	}
	shift := i/fine - 1
	return time.Duration((uint64(i%fine+fine+1) << shift) - 1)
}

func (h *Histogram) Add(d time.Duration) {
	h.counts[bucket(d)]++
	h.n++
	h.sum += d
	h.max = max(h.max, d)
}

// Merge adds the times of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// Count returns how many times there are, Sum what they make together, Max the longest.
func (h *Histogram) Count() uint64      { return h.n }
func (h *Histogram) Sum() time.Duration { return h.sum }
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the time that the part q of all is not above, to 1.6 %; 0 if there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.n))), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank && n > 0 {
			return min(top(i), h.max)
		}
	}
	return 0
}

// Bar is a row of a drawing: how many times are at most Until, and above the row's before it.
type Bar struct {
	Until time.Duration
	Count uint64
}

// Bars returns the times in at most rows rows of about the same ratio, from the least to the longest.
func (h *Histogram) Bars(rows int) []Bar {
	if h.n == 0 {
		return nil
	}
	low, high := float64(max(h.Quantile(0), 1)), float64(max(h.max, 1))
	step := math.Pow(high/low, 1/float64(rows))
	var bars []Bar
	i := 0
	for row := range rows {
		until := time.Duration(low * math.Pow(step, float64(row+1)))
		if row == rows-1 {
			until = h.max
		}
		bar := Bar{Until: until}
		for ; i < len(h.counts) && (row == rows-1 || top(i) <= until); i++ {
			bar.Count += h.counts[i]
		}
		bars = append(bars, bar)
	}
	return bars
}
