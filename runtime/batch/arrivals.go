package batch

import "time"

const (
	// gapMemory is how many gaps are remembered; with that many, all weights are halved. It covers several rounds of 32
	// clients, and still follows a load that changes within a second.
	gapMemory = 256
	// servedMemory is the same for returns, in ended items.
	servedMemory = 512
	// doubt is the weight of "it never arrives", so that a few samples decide nothing.
	doubt = 2
	// sameRate is the decay rate of the average over keys.
	sameRate = 1.0 / 64
)

// Arrivals learns when more items may arrive. The zero value is ready, and expects nothing.
type Arrivals struct {
	gaps histogram     // from one arrival to the next, if a worker was idle meanwhile
	last time.Duration // the latest arrival
	any  bool          // there was an arrival
	idle bool          // a worker has been idle since
	key  string        // its key
	same float64       // how often an arrival had the key of the one before

	returns   histogram     // from a batch's end to each arrival until the next end
	served    float64       // items that ended, halved with returns
	ended     time.Duration // the latest end
	size      int           // items that ended then
	returned  int           // arrivals since
	noneSince bool          // nothing has arrived since
}

func (a *Arrivals) Arrived(now time.Duration, key string) {
	if a.any && a.idle {
		if a.gaps.total >= gapMemory {
			a.gaps.halve()
		}
		a.gaps.add(now - a.last)
	}
	switch {
	case !a.any:
		a.same = 1
	case key == a.key:
		a.same += (1 - a.same) * sameRate
	default:
		a.same -= a.same * sameRate
	}
	if a.size > 0 {
		a.returns.add(now - a.ended)
		a.returned++
	}
	a.last, a.key, a.any, a.idle, a.noneSince = now, key, true, false, false
}

func (a *Arrivals) WorkerIdle() { a.idle = a.idle || !a.noneSince }

func (a *Arrivals) Ended(now time.Duration, n int) {
	if a.served >= servedMemory {
		a.served /= 2
		a.returns.halve()
	}
	a.served += float64(n)
	a.ended, a.size, a.returned, a.noneSince = now, n, 0, true
}

// stake is what a wait can gain and cost.
type stake struct {
	now     time.Duration
	bound   time.Duration // the longest wait
	ready   int           // items that would leave now
	room    int           // items that could join them
	waiting float64       // items that the wait delays
	share   float64       // of the arrivals that can join
	delay   float64       // the weight of a delay
	only    bool          // there is one worker: its last batch alone predicts the returns
	cost    *Cost
}

// bestWait returns how long it pays to wait from now on; 0 means not at all.
func (a *Arrivals) bestWait(s stake) time.Duration {
	switch {
	case s.bound <= 0:
		return 0
	case a.noneSince:
		return a.forReturns(s)
	case !a.any:
		return 0
	case s.only:
		return max(a.forNext(s), a.forReturns(s))
	default:
		return a.forNext(s)
	}
}

// forNext returns how long it pays to wait for the next arrival, given the time since the last one.
func (a *Arrivals) forNext(s stake) time.Duration {
	passed := s.now - a.last
	notYet := a.gaps.after(passed) + doubt
	remaining := notYet // of that, what has not arrived by then
	saving := s.share * s.cost.saving(s.ready, 1)
	delayed := s.delay * (s.waiting + 1)
	var best time.Duration
	var gain, bestGain float64
	for bin, from := binOf(passed), passed; bin < bins; bin++ {
		to := min(edge(bin+1), passed+s.bound)
		if to <= from {
			break
		}
		// The item may arrive between from and to, on average in the middle.
		come := a.gaps.between(bin, from, to)
		gain += (saving*come - delayed*float64(to-from)*(remaining-come/2)) / notYet
		remaining -= come
		if gain > bestGain {
			best, bestGain = to-passed, gain
		}
		from = to
	}
	return best
}

// forReturns returns how long it pays to wait for clients whose predictions have just ended and that have not returned,
// given the time since that end.
func (a *Arrivals) forReturns(s stake) time.Duration {
	missing := float64(a.size - a.returned)
	passed := s.now - a.ended
	// late counts the items that ended and whose clients had not returned by then.
	late := a.served - a.returns.total + a.returns.after(passed)
	if missing <= 0 || late <= 0 {
		return 0
	}
	each := missing / (late + doubt)
	missing = min(missing, float64(s.room))
	var best time.Duration
	var come, bestGain float64
	for bin, from := binOf(passed), passed; bin < bins && come < missing; bin++ {
		to := min(edge(bin+1), passed+s.bound)
		if to <= from {
			break
		}
		come = min(missing, come+each*a.returns.between(bin, from, to))
		saving := s.share * s.cost.saving(s.ready, max(1, int(come+0.5)))
		if gain := saving*come - s.delay*(s.waiting+1+come)*float64(to-passed); gain > bestGain {
			best, bestGain = to-passed, gain
		}
		from = to
	}
	return best
}
