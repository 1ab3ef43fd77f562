package slot

import "time"

// To be woken takes longer than a short prediction does. So while calls come one by one, and the model has each for a moment
// only, the slot's leader keeps its core and asks for the answer instead of sleeping. Where there is more than one call, the
// core is better used for the others; where one takes long, what is saved does not matter. Likewise a worker, to which
// one request comes soon after the answer to another, asks for the next: that is in pyembed/px_wait.c, and here is
// only whether it may.
const (
	spinAfter = 16                    // calls in a row that came when there was no other
	spinBelow = 50 * time.Microsecond // the model's time, up to which it is done
	spinFor   = windowSpan            // how long
	spinRest  = 4                     // calls for which it is not done after one that took longer than that

	// spinWorker is how long a worker may: all of the way of an answer to a client nearby, and of the next request back.
	spinWorker = 500 * time.Microsecond
)

// Where others want the cores, a busy one is taken from them, and from those whom one waits for.
const (
	strainEvery = time.Second
	// strainAbove is the share of time in which something waited for a core. On two cores it is a quarter with
	// a client of one connection beside the server, two thirds with 64, and above 0.8 with other work.
	strainAbove = 0.75
)

// Spin says who may keep a core busy for a moment to spare a short call a wake-up.
type Spin struct {
	Front   bool // there is a core for a worker beside it
	Workers bool // there is one for each, and one for the front
	// Pressure is for how long, ever, something waited for a core; false: that is not known. Nil: it never is.
	Pressure func() (time.Duration, bool)
}

// strain is what is known of the cores; guarded by pool.mu.
type strain struct {
	seen    time.Time     // the last look
	stalled time.Duration // what it said
	looking bool          // another is being taken
	high    bool          // others want the cores
}

// patience is for how long the slot's leader is to ask for its answer. Called with the lock held.
func (s *Slot) patience() time.Duration {
	p := s.pool
	p.feel(s.freed)
	var grant time.Duration
	if p.o.Spin.Workers && !p.strain.high {
		grant = spinWorker
	}
	if grant != s.granted {
		s.granted = grant
		s.words.Spin(grant)
	}
	if !p.o.Spin.Front || p.strain.high || p.lone < spinAfter || s.mean == 0 || s.mean > spinBelow {
		return 0
	}
	if s.spinRest > 0 {
		s.spinRest--
		return 0
	}
	return spinFor
}

// spun notes whether an answer was waited for in spite of that patience. Called with the lock held.
func (s *Slot) spun(patience time.Duration, waited bool) {
	if patience > 0 && waited {
		s.spinRest = spinRest
	}
}

// feel has the strain looked at where that is due. Called with the lock held.
func (p *Pool) feel(now time.Time) {
	if p.o.Spin.Pressure == nil || p.strain.looking || now.Sub(p.strain.seen) < strainEvery {
		return
	}
	p.strain.looking = true
	go p.feelAgain()
}

func (p *Pool) feelAgain() {
	stalled, known := p.o.Spin.Pressure()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strain = p.strain.next(time.Now(), stalled, known)
}

// next is what another look makes of it. What was long ago, before requests paused, says nothing about now.
func (s strain) next(now time.Time, stalled time.Duration, known bool) strain {
	passed := now.Sub(s.seen)
	high := known && passed < 2*strainEvery && float64(stalled-s.stalled) > strainAbove*float64(passed)
	return strain{seen: now, stalled: stalled, high: high}
}
