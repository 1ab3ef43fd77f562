package slot

import "time"

// Waking a sleeping thread takes longer than a short prediction. While short calls come one by one, the slot's leader
// therefore polls its socket briefly before it blocks. With several calls in flight, or with long ones, it does not,
// because other work needs the core. A worker polls for its next request in the same way (pyembed/channel_busypoll.c); the
// front only allows it. --busy-poll off disables both.
//
// Gain, echo model on two cores, one connection: 20 to 33 % more requests by the front's polling, and 1.7 to 2 times as
// many by the worker's; from eight connections on none (docs/experiments.md).
const (
	pollAfter      = 16                    // calls in a row without another in flight
	pollBelow      = 50 * time.Microsecond // the longest mean time of a call for which the leader polls
	pollFor        = windowSpan            // the leader's budget
	pollPauseCalls = 4                     // calls without polling after one that outlasted the budget

	// workerPollFor is a worker's budget: the round trip of an answer to a client nearby and of its next request.
	workerPollFor = 500 * time.Microsecond
)

// Polling stops under CPU pressure: it would take the core from other work, such as the worker that is waited for.
const (
	pressureInterval = time.Second
	// pressureAbove is the share of time in which some task waited for a core. With two cores it is a quarter with a
	// client of one connection beside the server, two thirds with 64 connections, and above 0.8 with other work.
	pressureAbove = 0.75
)

// BusyPoll says who may busy-poll. With the zero value neither side does.
type BusyPoll struct {
	Front   bool // there is a core for a worker besides the front's
	Workers bool // there is a core for each worker, and one for the front
	// Pressure returns how long, in total, some task has waited for a core; false means unknown. If nil, it is always
	// unknown.
	Pressure func() (time.Duration, bool)
}

// cpuPressure is the last sample of the CPU pressure. Guarded by pool.mu.
type cpuPressure struct {
	sampled  time.Time     // when
	waited   time.Duration // the total then
	sampling bool          // another sample is being taken
	high     bool          // above pressureAbove
}

// pollBudget returns how long the slot's leader polls before it blocks. Called with the lock held.
func (s *Slot) pollBudget() time.Duration {
	p := s.pool
	p.samplePressure(s.freed)
	var grant time.Duration
	if p.o.BusyPoll.Workers && !p.cpuPressure.high {
		grant = workerPollFor
	}
	if grant != s.granted {
		s.granted = grant
		s.words.SetBusyPoll(grant)
	}
	if !p.o.BusyPoll.Front || p.cpuPressure.high || p.singles < pollAfter || s.window.mean == 0 ||
		s.window.mean > pollBelow {
		return 0
	}
	if s.pollPause > 0 {
		s.pollPause--
		return 0
	}
	return pollFor
}

// polled records whether the answer outlasted the budget. Called with the lock held.
func (s *Slot) polled(budget time.Duration, blocked bool) {
	if budget > 0 && blocked {
		s.pollPause = pollPauseCalls
	}
}

// samplePressure starts a sample of the CPU pressure when one is due. Called with the lock held.
func (p *Pool) samplePressure(now time.Time) {
	if p.o.BusyPoll.Pressure == nil || p.cpuPressure.sampling || now.Sub(p.cpuPressure.sampled) < pressureInterval {
		return
	}
	p.cpuPressure.sampling = true
	go p.takeSample()
}

func (p *Pool) takeSample() {
	waited, known := p.o.BusyPoll.Pressure()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpuPressure = p.cpuPressure.next(time.Now(), waited, known)
}

// next makes the new sample. The first sample after a pause of the requests is never high: it covers the pause too.
func (c cpuPressure) next(now time.Time, waited time.Duration, known bool) cpuPressure {
	passed := now.Sub(c.sampled)
	high := known && passed < 2*pressureInterval && float64(waited-c.waited) > pressureAbove*float64(passed)
	return cpuPressure{sampled: now, waited: waited, high: high}
}
