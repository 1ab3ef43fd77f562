package batch

import (
	"math/bits"
	"time"
)

// The bins of a histogram: four in each doubling of the time, from 256 ns to over a minute. A longer time counts in the
// last bin. An expectation is off by a tenth at most.
const (
	binBits = 8 // the first bins are 1<<binBits ns wide
	bins    = 4 * 28
)

// histogram is a weighted distribution of times.
type histogram struct {
	weight [bins]float64
	total  float64
}

func binOf(d time.Duration) int {
	u := uint64(max(0, d)) >> binBits
	if u < 4 {
		return int(u)
	}
	e := bits.Len64(u) - 3
	return min(bins-1, e<<2+int(u>>e))
}

// edge returns the lower edge of a bin, and the upper one of the bin before.
func edge(bin int) time.Duration {
	if bin < 4 {
		return time.Duration(bin) << binBits
	}
	e := bin>>2 - 1
	return time.Duration(bin&3+4) << (e + binBits)
}

func (h *histogram) add(d time.Duration) {
	h.weight[binOf(d)]++
	h.total++
}

func (h *histogram) halve() {
	for i := range h.weight {
		h.weight[i] /= 2
	}
	h.total /= 2
}

// between returns the weight of the times from from to to within a bin, as if it were spread evenly there.
func (h *histogram) between(bin int, from, to time.Duration) float64 {
	return h.weight[bin] * float64(to-from) / float64(edge(bin+1)-edge(bin))
}

// after returns the weight of the times from d on.
func (h *histogram) after(d time.Duration) float64 {
	first := binOf(d)
	w := h.between(first, min(d, edge(first+1)), edge(first+1))
	for i := first + 1; i < bins; i++ {
		w += h.weight[i]
	}
	return w
}
