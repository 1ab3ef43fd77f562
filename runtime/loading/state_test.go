package loading

import "testing"

// TestMoves walks every pair of a state and an event.
func TestMoves(t *testing.T) {
	want := map[State]map[Event]State{
		Unloaded:  {Load: Loading},
		Loading:   {Up: Ready, SetupFailed: Failed, Lost: Defunct, Unload: Unloading},
		Ready:     {SetupFailed: Failed, Lost: Defunct, Unload: Unloading},
		Unloading: {Gone: Unloaded},
		Failed:    {Up: Ready, Lost: Defunct, Unload: Unloading},
		Defunct:   {Up: Ready, SetupFailed: Failed, Unload: Unloading},
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
	if got, moved := states.After(Load); got != states || moved || states.String() != "unknown" {
		t.Errorf("a state that there is not moves to %s, %v", got, moved)
	}
}

// TestReturn: from every state a model can be unloaded, and loaded again.
func TestReturn(t *testing.T) {
	for s := range states {
		at := s
		for _, e := range []Event{Unload, Gone, Load, Up} {
			at, _ = at.After(e)
		}
		if at != Ready {
			t.Errorf("%s does not come back: it is %s", s, at)
		}
	}
}
