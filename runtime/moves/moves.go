package moves

import "slices"

// Table holds the legal moves: Table[from] has a bit for each state that may follow. Look-ups do not allocate.
type Table[S ~uint8 | ~uint32] []uint32

// Allows reports whether the table has a move. A state that is not in the table has none.
func (t Table[S]) Allows(from, to S) bool { return int(from) < len(t) && t[from]&(1<<to) != 0 }

// Words is a table for states that are words, such as those that are stored as JSON.
type Words[S ~string] map[S][]S

// Allows reports whether the table has a move.
func (t Words[S]) Allows(from, to S) bool { return slices.Contains(t[from], to) }
