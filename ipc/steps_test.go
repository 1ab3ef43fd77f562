package ipc

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

// stepsModel is a group in which a cancel is under way: the words of each rank, and what each side does next. The front's
// operations are those of steps.go, on real words; a rank's are those of px_step of serving_events.c, one atomic
// operation each.
type stepsModel struct {
	ranks [3]modelRank
	count int
	front int    // operations done: a freeze of each rank, then a name for each
	most  uint64 // steps passed, as the freezes have found
}

type modelRank struct {
	steps, stop uint64
	seen        uint64 // the word that it has read
	at          int    // 0: it reads its word; 1: it tries to pass; 2: it waits for the step's name
	stopped     uint64 // the step at which it stopped, or 0
}

// moves returns the states that one operation leads to.
func (m stepsModel) moves(page *Page, steps uint64) (next []stepsModel) {
	word := func(i int, at int) uint64 { return page.word(page.Slot(i).base + at).Load() }
	load := func(i int) Slot {
		page.word(page.Slot(i).base + offSteps).Store(m.ranks[i].steps)
		page.word(page.Slot(i).base + offStop).Store(m.ranks[i].stop)
		return page.Slot(i)
	}
	if m.front < 2*m.count {
		n, i := m, m.front%m.count
		s := load(i)
		if m.front < m.count {
			n.most = max(n.most, s.FreezeSteps())
		} else {
			s.StopAt(m.most + 1)
		}
		n.ranks[i].steps, n.ranks[i].stop = word(i, offSteps), word(i, offStop)
		n.front++
		next = append(next, n)
	}
	for i := range m.count {
		n := m
		switch r := &n.ranks[i]; {
		case r.stopped != 0 || r.steps>>1 == steps && r.at == 0:
			continue // it has ended
		case r.at == 0:
			r.seen = r.steps
			r.at = 1 + int(r.seen&1)
		case r.at == 1 && r.steps == r.seen:
			r.steps, r.at = r.steps+2, 0
		case r.at == 1: // another word: it reads it again
			r.at = 0
		case r.stop == 0:
			continue // it sleeps
		default:
			r.steps, r.at = r.seen+2, 0
			if r.seen>>1+1 == r.stop {
				r.stopped = r.stop
			}
		}
		next = append(next, n)
	}
	return next
}

// TestSteps_RanksStopTogether: in each order of all operations, all ranks stop at one step, or none does because all
// have passed their last.
func TestSteps_RanksStopTogether(t *testing.T) {
	t.Parallel()
	page := assert.Must(NewPage())(t)
	defer page.Close()
	for _, c := range []struct {
		count int
		steps uint64
	}{{1, 3}, {2, 3}, {3, 2}} {
		seen := map[stepsModel]bool{}
		ends := map[uint64]bool{}
		var visit func(stepsModel)
		visit = func(m stepsModel) {
			if seen[m] {
				return
			}
			seen[m] = true
			next := m.moves(page, c.steps)
			if len(next) == 0 {
				for i := range m.count {
					assert.EqualNow(t, fmt.Sprintf("where rank %d stops in %+v", i, m), m.ranks[i].stopped, m.ranks[0].stopped)
				}
				assert.TrueNow(t, m.front == 2*c.count, "the front has not ended in %+v", m)
				ends[m.ranks[0].stopped] = true
			}
			for _, n := range next {
				visit(n)
			}
		}
		visit(stepsModel{count: c.count})
		assert.Equal(t, fmt.Sprintf("ends with %d ranks and %d steps", c.count, c.steps), uint64(len(ends)), c.steps+1)
	}
}
