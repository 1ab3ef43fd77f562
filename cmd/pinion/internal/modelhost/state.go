package modelhost

import "pinion/runtime/moves"

// State is the state of a model.
type State uint8

const (
	Unloaded  State = iota // it has no processes
	Loading                // its processes are being set up
	Ready                  // it takes predictions
	Unloading              // it finishes its predictions, and its processes end
	Failed                 // its setup has failed
	Defunct                // its processes have died, and none is started any more
	states
)

// The names of states, as GET /models shows them.
var stateNames = [states]string{"unloaded", "loading", "ready", "unloading", "failed", "defunct"}

// String returns the state's name.
func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return "unknown"
}

// stateMoves is the table of legal moves. Any other move changes nothing.
var stateMoves = moves.Table[State]{
	Unloaded:  1 << Loading,
	Loading:   1<<Ready | 1<<Failed | 1<<Defunct | 1<<Unloading,
	Ready:     1<<Failed | 1<<Defunct | 1<<Unloading,
	Unloading: 1 << Unloaded,
	Failed:    1<<Ready | 1<<Defunct | 1<<Unloading, // ready: a reload has fixed it
	Defunct:   1<<Ready | 1<<Failed | 1<<Unloading,
}
