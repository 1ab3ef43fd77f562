package supervise

import "slices"

type State uint8

const (
	Starting State = iota // Python starts and imports the model
	Setup                 // the model's setup runs
	Ready                 // it takes predictions
	Draining              // it finishes the predictions that it has
	Exited                // it has ended
	states
)

// The names of states, as health shows them.
var stateNames = [states]string{"starting", "setup", "ready", "draining", "gone"}

var stateMoves = [states][]State{
	Starting: {Setup, Draining, Exited},
	Setup:    {Ready, Draining, Exited},
	Ready:    {Draining, Exited},
	Draining: {Exited},
	Exited:   {},
}

func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return "unknown"
}

// canMove tells whether a worker may go from s to t.
func (s State) canMove(t State) bool { return s < states && slices.Contains(stateMoves[s], t) }

// move takes the worker to a state, and makes the change that belongs to it at the same moment; change may be nil. No
// other code sets a state. A move that the table does not have is a defect in this package: it is logged and not made.
func (w *worker) move(to State, change func(*ProcessStatus)) {
	w.change(func(st *ProcessStatus) {
		if !st.State.canMove(to) {
			w.sup.o.Logger.Error("illegal worker state change", "worker", w.sup.o.Index, "from", st.State, "to", to)
			return
		}
		st.State = to
		if change != nil {
			change(st)
		}
	})
}
