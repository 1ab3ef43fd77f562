package modelhost

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

// event is what happens to a model.
type event uint8

const (
	eventLoad        event = iota // it is to be loaded
	eventUp                       // one of its processes is ready
	eventSetupFailed              // none of its processes can be set up
	eventLost                     // none of its processes is left
	eventUnload                   // it is to be unloaded
	eventGone                     // its processes have ended
	events
)

// moves is the table of legal moves. An event that a state does not list changes nothing.
var moves = [states]map[event]State{
	Unloaded:  {eventLoad: Loading},
	Loading:   {eventUp: Ready, eventSetupFailed: Failed, eventLost: Defunct, eventUnload: Unloading},
	Ready:     {eventSetupFailed: Failed, eventLost: Defunct, eventUnload: Unloading},
	Unloading: {eventGone: Unloaded},
	Failed:    {eventUp: Ready, eventLost: Defunct, eventUnload: Unloading}, // eventUp: a reload has fixed it
	Defunct:   {eventUp: Ready, eventSetupFailed: Failed, eventUnload: Unloading},
}

// After is the state after an event; false means the event changes nothing.
func (s State) After(e event) (State, bool) {
	if s >= states {
		return s, false
	}
	next, ok := moves[s][e]
	if !ok {
		return s, false
	}
	return next, true
}
