package modelhost

import "testing"

// TestState_Moves walks every pair of a state and an event.
func TestState_Moves(t *testing.T) {
	want := map[State]map[event]State{
		Unloaded:  {eventLoad: Loading},
		Loading:   {eventUp: Ready, eventSetupFailed: Failed, eventLost: Defunct, eventUnload: Unloading},
		Ready:     {eventSetupFailed: Failed, eventLost: Defunct, eventUnload: Unloading},
		Unloading: {eventGone: Unloaded},
		Failed:    {eventUp: Ready, eventLost: Defunct, eventUnload: Unloading},
		Defunct:   {eventUp: Ready, eventSetupFailed: Failed, eventUnload: Unloading},
	}
	for s := range states {
		for e := range events {
			to, legal := want[s][e]
			if !legal {
				to = s
			}
			if got, moved := s.After(e); got != to || moved != legal {
				t.Errorf("%s after event %d is %s, %v; want %s, %v", s, e, got, moved, to, legal)
			}
		}
	}
	if got, moved := states.After(eventLoad); got != states || moved || states.String() != "unknown" {
		t.Errorf("a state that there is not moves to %s, %v, want %v, moved false and states unknown", got, moved, states)
	}
}

// TestState_Return: from every state a model can be unloaded, and loaded again.
func TestState_Return(t *testing.T) {
	for s := range states {
		at := s
		for _, e := range []event{eventUnload, eventGone, eventLoad, eventUp} {
			at, _ = at.After(e)
		}
		if at != Ready {
			t.Errorf("%s does not come back: it is %s, want %v", s, at, Ready)
		}
	}
}
