package batch

import (
	"slices"
	"time"
)

// beamWidth is how many partial schedules of as many items are kept.
const beamWidth = 12

// partial is a schedule of the first items: when its last batch ends, and the sum of all latencies.
type partial struct{ end, sum time.Duration }

// clairvoyant is the mean latency of a schedule that is made in the knowledge of all arrivals, for one worker and
// first come, first served. It is the best that a beam search finds: no worse than the best possible by much, and
// better than what anybody can do who does not know what comes.
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

// thin drops the schedules that end later and have waited longer than others, and of the rest all but a few,
// evenly.
func thin(beam []partial) []partial {
	slices.SortFunc(beam, func(a, b partial) int {
		if a.end != b.end {
			return int(a.end - b.end)
		}
		return int(a.sum - b.sum)
	})
	kept := beam[:0]
	for _, s := range beam {
		if len(kept) == 0 || s.sum < kept[len(kept)-1].sum {
			kept = append(kept, s)
		}
	}
	if len(kept) <= beamWidth {
		return kept
	}
	few := make([]partial, beamWidth)
	for i := range few {
		few[i] = kept[i*(len(kept)-1)/(beamWidth-1)]
	}
	return few
}

// mostAnswers bounds the answers a second that so many closed clients can get from one worker. Where batches have
// a mean size of n it answers at most n/C(n), and with a mean think time of z clients get at most clients/(z +
// C(n)), by Little's law. The bound is the best over n of the smaller of the two.
func mostAnswers(clients int, think time.Duration, p price, maxSize int) float64 {
	best := 0.0
	for n := 1; n <= min(clients, maxSize); n++ {
		took := p.of(n)
		best = max(best, min(float64(n)/took.Seconds(), float64(clients)/(think+took).Seconds()))
	}
	return best
}
