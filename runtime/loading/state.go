package loading

// State is where a model stands.
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

// Event is what happens to a model.
type Event uint8

const (
	Load        Event = iota // it is to be loaded
	Up                       // one of its processes is ready
	SetupFailed              // none of its processes can be set up
	Lost                     // none of its processes is left
	Unload                   // it is to be unloaded
	Gone                     // its processes have ended
	events
)

// moves is the table of legal moves. An event that a state does not list changes nothing.
var moves = [states]map[Event]State{
	Unloaded:  {Load: Loading},
	Loading:   {Up: Ready, SetupFailed: Failed, Lost: Defunct, Unload: Unloading},
	Ready:     {SetupFailed: Failed, Lost: Defunct, Unload: Unloading},
	Unloading: {Gone: Unloaded},
	Failed:    {Up: Ready, Lost: Defunct, Unload: Unloading}, // Up: a reload has fixed it
	Defunct:   {Up: Ready, SetupFailed: Failed, Unload: Unloading},
}

// After is the state after an event; false: the event changes nothing.
func (s State) After(e Event) (State, bool) {
	if s >= states {
		return s, false
	}
	next, ok := moves[s][e]
	if !ok {
		return s, false
	}
	return next, true
}
