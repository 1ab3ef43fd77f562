package supervise

import "pinion/runtime/moves"

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

// stateMoves is the table of legal moves.
var stateMoves = moves.Table[State]{
	Starting: 1<<Setup | 1<<Draining | 1<<Exited,
	Setup:    1<<Ready | 1<<Draining | 1<<Exited,
	Ready:    1<<Draining | 1<<Exited,
	Draining: 1 << Exited,
}

func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return "unknown"
}

// move changes the worker's state, and applies change, which may be nil, under the same lock. No other code sets a
// state. A move that the table does not have is a bug in this package: it is logged and not made.
func (w *worker) move(to State, change func(*ProcessStatus)) {
	w.change(func(st *ProcessStatus) {
		if !stateMoves.Allows(st.State, to) {
			w.sup.o.Logger.Error("illegal worker state change", "worker", w.sup.o.Index, "from", st.State, "to", to)
			return
		}
		st.State = to
		if change != nil {
			change(st)
		}
	})
}
