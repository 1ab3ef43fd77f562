package server

import (
	"slices"
	"testing"

	"pinion/tests/assert"
)

// jobTurnsOf makes the turns of versions that are all ready, with these shares and free slots.
func jobTurnsOf(shares, free []int) *jobTurns {
	t := &jobTurns{free: free, owed: make([]int, len(shares))}
	for _, share := range shares {
		t.targets, t.eligible = append(t.targets, &target{share: share}), append(t.eligible, share > 0)
	}
	return t
}

// TestJobTurns_Shares: of jobs that name no version each version gets its share, one with none gets none.
func TestJobTurns_Shares(t *testing.T) {
	turns, got := jobTurnsOf([]int{60, 30, 10, 0}, []int{1000, 1000, 1000, 1000}), make([]int, 4)
	for range 100 {
		next, _ := turns.next()
		turns.give(next)
		got[next]++
	}
	assert.EqualSlices(t, "100 jobs", got, []int{60, 30, 10, 0})
}

// TestJobTurns_BusyVersion: jobs of a version without a free slot go to the one with the largest share. Later it gets
// at most one job more for that.
func TestJobTurns_BusyVersion(t *testing.T) {
	turns := jobTurnsOf([]int{50, 40, 10}, []int{1000, 0, 1000})
	for range 20 {
		next, _ := turns.next()
		assert.TrueNow(t, next != 1, "got the version without a free slot, want another")
		turns.give(next)
	}
	turns.free[1] = 1000
	in := 0
	for range 10 {
		next, _ := turns.next()
		turns.give(next)
		if next == 1 {
			in++
		}
	}
	assert.True(t, in >= 4 && in <= 5, "got %d of 10 jobs for the version that was busy, want its 4 and at most 1 more", in)
}

// TestJobTurns_Blocking: where no job can begin, it names the versions whose slots could change that.
func TestJobTurns_Blocking(t *testing.T) {
	turns := jobTurnsOf([]int{70, 30}, []int{0, 0})
	turns.owed[1] = 100
	if next, blocking := turns.next(); next != -1 || !slices.Equal(blocking, []int{1, 0}) {
		t.Errorf("got %d, blocked by %v; want -1, by the version whose turn it is and the largest", next, blocking)
	}
	turns.eligible = []bool{false, false}
	next, blocking := turns.next()
	assert.True(t, next == -1 && blocking == nil, "no version runs jobs: got %d, %v; want -1 and none", next, blocking)
}
