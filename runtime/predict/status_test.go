package predict

import "testing"

func TestMoves(t *testing.T) {
	legal := map[[2]Status]bool{
		{Starting, Processing}: true,
		{Processing, Starting}: true, // its worker died before the model had it
		{Starting, Succeeded}:  true, {Starting, Failed}: true, {Starting, Canceled}: true,
		{Processing, Succeeded}: true, {Processing, Failed}: true, {Processing, Canceled}: true,
	}
	for from := Status(0); from <= statuses; from++ { // one beyond, which is none
		for to := Status(0); to <= statuses; to++ {
			if got := from.CanMove(to); got != legal[[2]Status{from, to}] {
				t.Errorf("%s to %s: %v", from, to, got)
			}
		}
	}
}

func TestStatusWords(t *testing.T) {
	for s, c := range map[Status]struct {
		word     string
		terminal bool
	}{
		Starting: {"starting", false}, Processing: {"processing", false},
		Succeeded: {"succeeded", true}, Failed: {"failed", true}, Canceled: {"canceled", true},
		statuses: {"unknown", false},
	} {
		if s.String() != c.word || s.Terminal() != c.terminal {
			t.Errorf("%d is %q, an end: %v; want %q, %v", s, s, s.Terminal(), c.word, c.terminal)
		}
	}
	var none Status
	if none != Starting {
		t.Error("the zero value is not starting")
	}
}
