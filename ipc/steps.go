package ipc

// The ranks of a group run the same code, and must stop a canceled prediction at the same place: a rank that goes on
// waits for the others for ever. So each counts the steps that it passes. The front first freezes the counts: a rank
// that comes to its next step then waits. No rank passes a step without changing its count, so the front now knows the
// first step that none has passed, and names it. Each rank passes the steps before it, and stops there.
//
// A rank's word is twice its count, plus 1 if it is frozen. pyembed/serving_events.c has the rank's side.

// ResetSteps forgets the steps of the last prediction. No rank may run one.
func (s Slot) ResetSteps() {
	s.page.word(s.base + offStop).Store(0)
	s.page.word(s.base + offSteps).Store(0)
}

// Steps returns how many steps the rank has passed.
func (s Slot) Steps() uint64 { return s.page.word(s.base+offSteps).Load() >> 1 }

// FreezeSteps makes the rank wait at its next step, and returns how many it has passed.
func (s Slot) FreezeSteps() (passed uint64) { return s.page.word(s.base+offSteps).Or(1) >> 1 }

// StopAt names the step at which the rank stops, counted from 1, after FreezeSteps.
func (s Slot) StopAt(step uint64) {
	word := s.page.word(s.base + offStop)
	word.Store(step)
	wake(word)
}

// StopTogether makes ranks stop at the first step that none of them has passed.
func StopTogether(ranks []Slot) {
	passed := uint64(0)
	for _, r := range ranks {
		passed = max(passed, r.FreezeSteps())
	}
	for _, r := range ranks {
		r.StopAt(passed + 1)
	}
}

// Begin claims id as a worker does. It returns false if the front has taken it back.
func (s Slot) Begin(id uint64) bool {
	running := s.page.word(s.base + offRunning)
	running.Store(id)
	queued := id<<claimShift | uint64(ClaimQueued)
	if s.claim(id).CompareAndSwap(queued, id<<claimShift|uint64(ClaimRunning)) {
		return true
	}
	running.Store(0)
	return false
}

// End says that the worker has nothing that runs.
func (s Slot) End() { s.page.word(s.base + offRunning).Store(0) }

// IsCanceled reports whether id is to be canceled.
func (s Slot) IsCanceled(id uint64) bool {
	return s.page.word(s.base+offCancel).Load()&^cancelAgain == id
}
