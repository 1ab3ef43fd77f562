package supervise

// State is where a worker process stands.
type State uint8

const (
	Starting State = iota // the process was started; Python is coming up, the model is imported
	Setup                 // the model's setup runs
	Ready                 // it takes predictions
	Draining              // it finishes what it has
	Gone                  // it has ended
	states
)

var stateNames = [states]string{"starting", "setup", "ready", "draining", "gone"}

// stateMoves is the table of legal moves of one process.
var stateMoves = [states][]State{
	Starting: {Setup, Draining, Gone},
	Setup:    {Ready, Draining, Gone},
	Ready:    {Draining, Gone},
	Draining: {Gone},
	Gone:     {},
}

// String is the state's name, as health shows it.
func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return "unknown"
}

// canMove tells whether a worker may go from s to t.
func (s State) canMove(t State) bool {
	if s >= states {
		return false
	}
	for _, legal := range stateMoves[s] {
		if legal == t {
			return true
		}
	}
	return false
}
