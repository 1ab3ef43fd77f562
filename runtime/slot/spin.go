package slot

import "time"

// To be woken takes longer than a short prediction does. So while calls come one by one, and the model has each for a moment
// only, the slot's leader keeps its core and asks for the answer instead of sleeping. Where there is more than one call, the
// core is better used for the others; where one takes long, what is saved does not matter.
const (
	spinAfter = 16                    // calls in a row that came when there was no other
	spinBelow = 50 * time.Microsecond // the model's time, up to which it is done
	spinFor   = windowSpan            // how long
	spinRest  = 4                     // calls for which it is not done after one that took longer than that
)

// patience is for how long the slot's leader is to ask for its answer. Called with the lock held.
func (s *Slot) patience() time.Duration {
	p := s.pool
	if !p.o.Spin || p.lone < spinAfter || s.mean == 0 || s.mean > spinBelow {
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
