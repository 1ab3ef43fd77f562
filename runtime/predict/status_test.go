package predict

import "testing"

// TestMoves walks every pair of statuses. Begin and End are the only moves that production code makes, so each is tried
// from every status.
func TestMoves(t *testing.T) {
	legal := map[[2]Status]bool{
		{Starting, Processing}: true,
		{Starting, Succeeded}:  true, {Starting, Failed}: true, {Starting, Canceled}: true,
		{Processing, Succeeded}: true, {Processing, Failed}: true, {Processing, Canceled}: true,
	}
	for from := Status(0); from <= statuses; from++ { // one beyond the last, which has no moves
		for to := Status(0); to <= statuses; to++ {
			want := from
			if legal[[2]Status{from, to}] {
				want = to
			}
			at := from
			if moved := at.move(to); moved != (want == to && from != to) || at != want {
				t.Errorf("%s to %s: moved %v, now %s", from, to, moved, at)
			}
			p := New("a", Request{}, epoch, nil, Options{})
			p.record.Status = from
			moved := false
			switch to {
			case Starting:
				continue // no method moves there
			case Processing:
				moved = p.Begin(epoch)
			default:
				moved = p.End(Result{Status: to}, epoch)
			}
			if moved != legal[[2]Status{from, to}] || p.Record().Status != want {
				t.Errorf("a prediction, %s to %s: moved %v, now %s", from, to, moved, p.Record().Status)
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
