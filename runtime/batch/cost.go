package batch

import (
	"math"
	"math/bits"
	"time"
)

// Sizes fall into classes, four in each doubling. They end at powers of two, where real devices have their steps: 1, 2,
// 3, 4, 5, 6, 7, 8, 9-10, 11-12, 13-14, 15-16, 17-20 …
const classes = 4*10 + 4

func classOf(n int) int {
	u := uint(max(1, n) - 1)
	if u < 4 {
		return int(u)
	}
	e := bits.Len(u) - 3
	return min(classes-1, e<<2+int(u>>e))
}

func largest(class int) int {
	if class < 4 {
		return class + 1
	}
	e := class>>2 - 1
	return (class&3 + 5) << e
}

// sample is what is known about one class.
type sample struct {
	size   float64 // mean number of items
	took   float64 // mean time, ns
	weight float64 // number of batches in the means, at most costTrust
	at     int     // serial number of the last of them
}

const (
	costRate  = 1.0 / 8 // the decay rate of a class's means
	costTrust = 8       // more batches than this do not make its means more certain
	costAge   = 1 << 12 // batches after which the weight of an unseen class has halved
)

// Cost learns how long a batch takes, by its size: the mean of each class of sizes, and a line a + b·n through all of
// them for classes that have not been seen. A class is remembered while other sizes come, because full batches alone
// say nothing about a and b. The zero value is ready to use and estimates 0 for every batch.
type Cost struct {
	samples [classes]sample
	serial  int
	a, b    float64 // ns
}

func (c *Cost) Learn(n int, took time.Duration) {
	if n < 1 || took < 0 {
		return
	}
	c.serial++
	s := &c.samples[classOf(n)]
	rate := max(costRate, 1/(s.weight+1))
	s.size += (float64(n) - s.size) * rate
	s.took += (float64(took) - s.took) * rate
	s.weight = min(costTrust, s.weight+1)
	s.at = c.serial
	c.fit()
}

// trust returns the weight of a class's means now.
func (c *Cost) trust(s *sample) float64 {
	if s.weight == 0 {
		return 0
	}
	return s.weight * math.Exp2(-float64(c.serial-s.at)/costAge)
}

// fit fits the line: weighted least squares, with a and b at least 0. If all batches had one size, all of their time
// counts as a.
func (c *Cost) fit() {
	var w, x, y, xx, xy float64
	for i := range c.samples {
		s := &c.samples[i]
		t := c.trust(s)
		w += t
		x += t * s.size
		y += t * s.took
		xx += t * s.size * s.size
		xy += t * s.size * s.took
	}
	c.b = 0
	if d := w*xx - x*x; d > 1e-9*w*xx {
		c.b = max(0, (w*xy-x*y)/d)
	}
	if c.a = (y - c.b*x) / w; c.a < 0 {
		c.a, c.b = 0, xy/xx
	}
}

// Line returns the line a + b·n.
func (c *Cost) Line() (a, b time.Duration) { return time.Duration(c.a), time.Duration(c.b) }

// Of returns how long a batch of n is expected to take.
func (c *Cost) Of(n int) time.Duration { return time.Duration(c.of(n)) }

func (c *Cost) of(n int) float64 {
	line := c.a + c.b*float64(n)
	s := &c.samples[classOf(n)]
	// The class's own mean, moved along the line to n. Its weight grows with the number of batches in it.
	own := max(0, s.took+c.b*(float64(n)-s.size))
	t := c.trust(s)
	return line + (own-line)*t/(t+1)
}

// saving returns the worker's time, ns, that running n together with others saves over running n after them.
func (c *Cost) saving(others, n int) float64 { return c.of(others) + c.of(n) - c.of(others+n) }

const (
	splitBelow = 0.95 // of the cost for each
	splitTrust = 2    // batches of such a size
)

// BestOf returns how many of the ready items are best run at once: all, unless fewer, and at least half, take clearly
// less time each. It looks only at sizes that were seen. The advantage must be clear, because a batch that leaves a few
// items behind without need splits the clients in two groups.
func (c *Cost) BestOf(ready int) int {
	best, least := ready, splitBelow*c.of(ready)/float64(ready)
	for class := classOf((ready + 1) / 2); largest(class) < ready; class++ {
		if c.samples[class].weight < splitTrust {
			continue
		}
		n := largest(class)
		if each := c.of(n) / float64(n); each < least {
			best, least = n, each
		}
	}
	return best
}
