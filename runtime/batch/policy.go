package batch

import "time"

// View is what a decision is made on: the items of one key and what surrounds them, as an idle worker asks.
type View struct {
	Now      time.Duration
	Ready    int           // items of this key, at least 1
	Waiting  int           // items of all keys, these included
	Idle     int           // workers with nothing to do, the asking one included
	Workers  int           // all of them
	Held     time.Duration // when a worker was first refused these; Now where none was
	Deadline time.Duration // the first of all that wait; 0: none has one
	Cost     *Cost
	Arrivals *Arrivals
}

// Decision says what to do. Run above 0: so many leave now, the oldest. Otherwise none do, and the question is to
// be asked again when anything happens, or at Until, which lies ahead.
type Decision struct {
	Run   int
	Until time.Duration
}

// Policy is the rule that the package's documentation states.
type Policy struct{ Options }

// deadlineShare is the share of the time to a deadline that a hold may use up.
const deadlineShare = 0.5

// Decide applies the rule.
func (p Policy) Decide(v View) Decision {
	if v.Ready >= p.MaxSize {
		return Decision{Run: p.MaxSize}
	}
	end := p.MaxWait.end(v.Held, v.Arrivals.last, v.Cost.Of(v.Ready))
	if v.Deadline > 0 {
		end = min(end, v.Held+time.Duration(deadlineShare*float64(v.Deadline-v.Held)))
	}
	share := 1.0
	if v.Waiting > v.Ready {
		share = v.Arrivals.same
	}
	wait := v.Arrivals.wait(stake{
		now: v.Now, most: end - v.Now,
		ready: v.Ready, room: p.MaxSize - v.Ready, waiting: float64(v.Waiting),
		share: share, delay: float64(max(1, v.Idle)), only: v.Workers == 1, cost: v.Cost,
	})
	if wait > 0 {
		return Decision{Until: v.Now + wait}
	}
	return Decision{Run: v.Cost.BestOf(v.Ready)}
}
