package batch

import (
	"slices"
	"time"
)

// beamWidth is how many partial schedules of the same number of items are followed.
const beamWidth = 12

// partial is a schedule of the first items: when its last batch ends, and the sum of all latencies.
type partial struct{ end, sum time.Duration }

// clairvoyant returns the mean latency of a schedule that knows all arrivals in advance, for one worker and first come,
// first served. A beam search finds it: it is close to the best possible, and better than any policy that does not know
// the arrivals.
func clairvoyant(at []time.Duration, p price, maxSize int) time.Duration {
	beams := make([][]partial, len(at)+1)
	beams[0] = []partial{{}}
	for i := range at {
		beam := thin(beams[i])
		beams[i] = nil
		var arrived time.Duration // the sum of the arrivals of the batch
		for n := 1; n <= maxSize && i+n <= len(at); n++ {
			last := at[i+n-1]
			arrived += last
			took := p.of(n)
			worth := false
			for _, s := range beam {
				end := max(s.end, last) + took
				beams[i+n] = append(beams[i+n], partial{end, s.sum + end*time.Duration(n) - arrived})
				worth = worth || last <= max(s.end, at[i])+p.of(maxSize)
			}
			if !worth {
				break
			}
		}
	}
	best := beams[len(at)][0].sum
	for _, s := range beams[len(at)] {
		best = min(best, s.sum)
	}
	return best / time.Duration(len(at))
}

// thin drops the schedules that end later and have waited longer than others, and returns an even selection of the
// rest.
func thin(beam []partial) []partial {
	slices.SortFunc(beam, func(a, b partial) int {
		if a.end != b.end {
			return int(a.end - b.end)
		}
		return int(a.sum - b.sum)
	})
	best := beam[:0]
	for _, s := range beam {
		if len(best) == 0 || s.sum < best[len(best)-1].sum {
			best = append(best, s)
		}
	}
	if len(best) <= beamWidth {
		return best
	}
	few := make([]partial, beamWidth)
	for i := range few {
		few[i] = best[i*(len(best)-1)/(beamWidth-1)]
	}
	return few
}

// mostAnswers bounds the answers a second that so many closed clients can get from one worker. Where batches have a
// mean size of n it answers at most n/C(n), and with a mean think time of z clients get at most clients/(z + C(n)), by
// Little's law. The bound is the best over n of the smaller of the two.
func mostAnswers(clients int, think time.Duration, p price, maxSize int) float64 {
	best := 0.0
	for n := 1; n <= min(clients, maxSize); n++ {
		took := p.of(n)
		best = max(best, min(float64(n)/took.Seconds(), float64(clients)/(think+took).Seconds()))
	}
	return best
}
