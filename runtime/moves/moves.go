package moves

import "slices"

// Table is the legal moves: Table[from] has a bit for each state that may follow. It allocates nothing when asked.
type Table[S ~uint8 | ~uint32] []uint32

// Allows reports whether the table has a move. States that it does not have move nowhere.
func (t Table[S]) Allows(from, to S) bool { return int(from) < len(t) && t[from]&(1<<to) != 0 }

// Words is the same for states that are words, as those that are stored as JSON.
type Words[S ~string] map[S][]S

// Allows reports whether the table has a move.
func (t Words[S]) Allows(from, to S) bool { return slices.Contains(t[from], to) }
