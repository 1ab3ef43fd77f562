package batch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// A price is what a batch of n takes.
type price struct {
	name string
	of   func(n int) time.Duration
}

// capacity returns the most items a second that a worker can do.
func (p price) capacity(maxSize int) float64 {
	best := 0.0
	for n := 1; n <= maxSize; n++ {
		best = max(best, float64(n)/p.of(n).Seconds())
	}
	return best
}

// load generates items. Open: at times that do not depend on the server. Closed: from clients that send their next one
// a think time after an answer.
type load struct {
	name    string
	open    func(r *rand.Rand, n int) []time.Duration
	clients int
	think   func(r *rand.Rand) time.Duration
}

// fixedWait is what other servers do: wait for a full batch, for a fixed time.
type fixedWait struct {
	maxSize int
	wait    time.Duration
}

// Decide implements decider.
func (f fixedWait) Decide(v View) Decision {
	if end := v.HoldStart + f.wait; v.Ready < f.maxSize && v.Now < end {
		return Decision{Until: end}
	}
	return Decision{Run: min(v.Ready, f.maxSize)}
}

// exponential draws a time with the given mean.
func exponential(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

// poisson returns a memoryless load of so many a second.
func poisson(rate float64) func(*rand.Rand, int) []time.Duration {
	return func(r *rand.Rand, n int) []time.Duration {
		at := make([]time.Duration, n)
		var t time.Duration
		for i := range at {
			t += time.Duration(r.ExpFloat64() / rate * 1e9)
			at[i] = t
		}
		return at
	}
}

// bursty brings bursts of geometric length, mean items and gap apart, at random times, so many items a second in all.
func bursty(rate float64, mean float64, gap time.Duration) func(*rand.Rand, int) []time.Duration {
	return func(r *rand.Rand, n int) []time.Duration {
		at := make([]time.Duration, 0, n)
		var t time.Duration
		for len(at) < n {
			t += time.Duration(r.ExpFloat64() * mean / rate * 1e9)
			u := t
			for len(at) < n {
				at = append(at, u)
				u += exponential(r, gap)
				if r.Float64() < 1/mean {
					break
				}
			}
		}
		slices.Sort(at)
		return at
	}
}

// onOff returns a memoryless load with two rates that take turns.
func onOff(on, off float64, onFor, offFor time.Duration) func(*rand.Rand, int) []time.Duration {
	return func(r *rand.Rand, n int) []time.Duration {
		at := make([]time.Duration, n)
		var t float64 // in expected arrivals at rate 1, turned into time below
		period := (onFor + offFor).Seconds()
		mass := on*onFor.Seconds() + off*offFor.Seconds()
		for i := range at {
			t += r.ExpFloat64()
			whole := math.Floor(t / mass)
			rest := t - whole*mass
			seconds := whole * period
			if m := on * onFor.Seconds(); rest < m {
				seconds += rest / on
			} else {
				seconds += onFor.Seconds() + (rest-m)/off
			}
			at[i] = time.Duration(seconds * 1e9)
		}
		return at
	}
}

// clientsOf returns how a number of clients is written.
func clientsOf(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// returning clients send their next one as soon as they have their answer; it takes a while all the same.
func returning(n int) load {
	return load{
		name: clientsOf(n), clients: n,
		think: func(r *rand.Rand) time.Duration { return 50*us + exponential(r, 50*us) },
	}
}

// thinking clients take a random time, 2 ms on the average, before they send their next one.
func thinking(n int) load {
	return load{
		name: clientsOf(n) + " that think", clients: n,
		think: func(r *rand.Rand) time.Duration { return 50*us + exponential(r, 2*ms) },
	}
}

// line returns the price a + b·n.
func line(name string, a, b time.Duration) price {
	return price{name, func(n int) time.Duration { return a + b*time.Duration(n) }}
}

// steps returns a price that goes up at powers of two, as where a device pads its batches.
func steps() price {
	return price{"2 ms + 0.2 ms·2^⌈log₂ n⌉", func(n int) time.Duration {
		padded := 1
		for padded < n {
			padded *= 2
		}
		return 2*ms + 200*us*time.Duration(padded)
	}}
}

// prices returns the cost models of the comparison.
func prices() []price {
	return []price{
		line("5 ms", 5*ms, 0),
		line("1 ms", ms, 0),
		line("5 ms + 0.1 ms·n", 5*ms, 100*us),
		line("1 ms + 0.05 ms·n", ms, 50*us),
		line("0.2 ms + 0.5 ms·n", 200*us, 500*us),
		steps(),
	}
}

// loads returns the loads of the comparison, for a server with such a capacity, in items a second.
func loads(capacity float64) []load {
	var list []load
	for _, share := range []float64{0.05, 0.3, 0.6, 0.9} {
		list = append(list, load{name: fmt.Sprintf("Poisson, %.0f %%", 100*share), open: poisson(share * capacity)})
	}
	for _, share := range []float64{0.1, 0.3, 0.6} {
		list = append(list, load{
			name: fmt.Sprintf("bursts of 8, %.0f %%", 100*share), open: bursty(share*capacity, 8, 20*us),
		})
	}
	list = append(list, load{name: "on (80 %) and off (2 %)", open: onOff(0.8*capacity, 0.02*capacity, 200*ms, 300*ms)})
	for _, n := range []int{1, 2, 8, 32, 40, 64, 256} {
		list = append(list, returning(n))
	}
	for _, n := range []int{2, 8, 32, 64} {
		list = append(list, thinking(n))
	}
	return list
}
