package batch

import "time"

const (
	// gapMemory is how many gaps are remembered: with that many all count half. Enough for several rounds
	// of 32 clients, few enough to follow a load that changes within a second.
	gapMemory = 256
	// servedMemory is the same for returns, in items that ended.
	servedMemory = 512
	// doubt is the weight of "it never comes", so that few samples are not believed.
	doubt = 2
	// sameRate is the rate at which the average over keys forgets.
	sameRate = 1.0 / 64
)

// Arrivals learns when more may come. The zero value is ready, and expects nothing.
type Arrivals struct {
	gaps  histogram     // from one arrival to the next, where a worker was idle meanwhile
	last  time.Duration // the latest arrival
	began bool          // there was one
	asked bool          // a worker was idle since
	key   string        // its key
	same  float64       // how often an arrival had the key of the one before

	returns histogram     // from a batch's end to each arrival until the next end
	served  float64       // items that ended, by the same measure
	ended   time.Duration // the latest end
	size    int           // items that ended then
	back    int           // arrivals since
	after   bool          // nothing has come since
}

// Came tells of an arrival.
func (a *Arrivals) Came(now time.Duration, key string) {
	if a.began && a.asked {
		if a.gaps.total >= gapMemory {
			a.gaps.halve()
		}
		a.gaps.add(now - a.last)
	}
	switch {
	case !a.began:
		a.same = 1
	case key == a.key:
		a.same += (1 - a.same) * sameRate
	default:
		a.same -= a.same * sameRate
	}
	if a.size > 0 {
		a.returns.add(now - a.ended)
		a.back++
	}
	a.last, a.key, a.began, a.asked, a.after = now, key, true, false, false
}

// Asked tells that a worker is idle.
func (a *Arrivals) Asked() { a.asked = a.asked || !a.after }

// Ended tells of the end of a batch of n.
func (a *Arrivals) Ended(now time.Duration, n int) {
	if a.served >= servedMemory {
		a.served /= 2
		a.returns.halve()
	}
	a.served += float64(n)
	a.ended, a.size, a.back, a.after = now, n, 0, true
}

// A stake is what there is to win and to lose by waiting.
type stake struct {
	now     time.Duration
	most    time.Duration // the longest wait
	ready   int           // items that would leave now
	room    int           // items that could join them
	waiting float64       // who is delayed
	share   float64       // of those who come may so many join
	delay   float64       // what a delay counts
	only    bool          // there is one worker: those of its last batch are all who may come back
	cost    *Cost
}

// wait is how long it pays to wait from now on; 0: not at all.
func (a *Arrivals) wait(s stake) time.Duration {
	switch {
	case s.most <= 0:
		return 0
	case a.after:
		return a.forReturns(s)
	case !a.began:
		return 0
	case s.only:
		return max(a.forNext(s), a.forReturns(s))
	default:
		return a.forNext(s)
	}
}

// forNext is how long it pays to wait for the next arrival, by the time that has passed since the last.
func (a *Arrivals) forNext(s stake) time.Duration {
	passed := s.now - a.last
	open := a.gaps.after(passed) + doubt
	left := open // of that, what has not come by then
	saving := s.share * s.cost.saving(s.ready, 1)
	crowd := s.delay * (s.waiting + 1)
	var best time.Duration
	var gain, most float64
	for bin, from := binOf(passed), passed; bin < bins; bin++ {
		to := min(edge(bin+1), passed+s.most)
		if to <= from {
			break
		}
		// While we wait from here to there it may come, on the average in the middle.
		come := a.gaps.between(bin, from, to)
		gain += (saving*come - crowd*float64(to-from)*(left-come/2)) / open
		left -= come
		if gain > most {
			best, most = to-passed, gain
		}
		from = to
	}
	return best
}

// forReturns is how long it pays to wait for those whose predictions have just ended and who have not come back since, by
// the time that has passed.
func (a *Arrivals) forReturns(s stake) time.Duration {
	missing := float64(a.size - a.back)
	passed := s.now - a.ended
	late := a.served - a.returns.total + a.returns.after(passed) // of those who ever ended, who had not come back by then
	if missing <= 0 || late <= 0 {
		return 0
	}
	each := missing / (late + doubt)
	missing = min(missing, float64(s.room))
	var best time.Duration
	var come, most float64
	for bin, from := binOf(passed), passed; bin < bins && come < missing; bin++ {
		to := min(edge(bin+1), passed+s.most)
		if to <= from {
			break
		}
		come = min(missing, come+each*a.returns.between(bin, from, to))
		saving := s.share * s.cost.saving(s.ready, max(1, int(come+0.5)))
		if gain := saving*come - s.delay*(s.waiting+1+come)*float64(to-passed); gain > most {
			best, most = to-passed, gain
		}
		from = to
	}
	return best
}
