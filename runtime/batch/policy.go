package batch

import "time"

// View is the input of a decision: the items of one key and their surroundings, when an idle worker asks.
type View struct {
	Now       time.Duration
	Ready     int           // items of this key, at least 1
	Waiting   int           // items of all keys, these included
	Idle      int           // workers with nothing to do, the asking one included
	Workers   int           // all of them
	HoldStart time.Duration // when a worker was first refused these items; Now if none was
	Deadline  time.Duration // the first of all waiting items; 0 means none
	Cost      *Cost
	Arrivals  *Arrivals
}

// Decision says what to do. If Run is above 0, that many items leave now, the oldest first. Otherwise none leave, and
// the owner asks again when anything happens, or at Until, which is in the future.
type Decision struct {
	Run   int
	Until time.Duration
}

// Policy is the rule that the package's documentation states.
type Policy struct{ Options }

// deadlineShare is how much of the time until a deadline a hold may use.
const deadlineShare = 0.5

func (p Policy) Decide(v View) Decision {
	if v.Ready >= p.MaxSize {
		return Decision{Run: p.MaxSize}
	}
	end := p.MaxWait.end(v.HoldStart, v.Arrivals.last, v.Cost.Of(v.Ready))
	if v.Deadline > 0 {
		end = min(end, v.HoldStart+time.Duration(deadlineShare*float64(v.Deadline-v.HoldStart)))
	}
	share := 1.0
	if v.Waiting > v.Ready {
		share = v.Arrivals.same
	}
	wait := v.Arrivals.bestWait(stake{
		now: v.Now, bound: end - v.Now,
		ready: v.Ready, room: p.MaxSize - v.Ready, waiting: float64(v.Waiting),
		share: share, delay: float64(max(1, v.Idle)), only: v.Workers == 1, cost: v.Cost,
	})
	if wait > 0 {
		return Decision{Until: v.Now + wait}
	}
	return Decision{Run: v.Cost.BestOf(v.Ready)}
}
