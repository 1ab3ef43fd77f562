package assert

import "testing"

// Moves tries every pair of states, with one beyond the last, which has no moves. move brings a machine to from, moves
// it to to, and returns what came of that.
func Moves[S ~uint8 | ~uint32](t testing.TB, states S, legal map[[2]S]bool, move func(from, to S) (moved bool, now S)) {
	t.Helper()
	var all []S
	for s := S(0); s <= states; s++ {
		all = append(all, s)
	}
	AllMoves(t, all, legal, move)
}

// AllMoves is Moves for states that are not numbered.
func AllMoves[S comparable](t testing.TB, states []S, legal map[[2]S]bool, move func(from, to S) (moved bool, now S)) {
	t.Helper()
	for _, from := range states {
		for _, to := range states {
			want, allowed := from, legal[[2]S{from, to}]
			if allowed {
				want = to
			}
			if moved, now := move(from, to); moved != allowed || now != want {
				t.Errorf("from %v to %v: got %v, moved %v; want %v, moved %v", from, to, now, moved, want, allowed)
			}
		}
	}
}
