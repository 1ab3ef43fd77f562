package chaos

import (
	"errors"
	"math/rand/v2"
	"time"

	"pinion/tests/harness"
)

// day is by how much a clock may be set wrong.
const day = 24 * time.Hour

// leaps are how far a clock may jump.
var leaps = []time.Duration{time.Second, time.Minute, time.Hour, day, 30 * day, 366 * day, 20 * 366 * day}

// setClock makes the server and its workers see another time of day, and sometimes the true one again. A stopped worker
// keeps the time that it sees, and one that starts later sees the true time: no two need agree.
func (g *rig) setClock(r *rand.Rand, _ string) {
	leap := leaps[r.IntN(len(leaps))]
	by := time.Duration(r.Int64N(int64(2*leap))) - leap
	if r.IntN(4) == 0 {
		by = 0
	}
	g.jump(by)
}

// jump sets the clocks by that much from the true time.
func (g *rig) jump(by time.Duration) {
	err := g.s.Jump(by, func(pid int) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.halted[pid]
	})
	if err != nil {
		g.complain("jump by %v: %v", by, err)
	}
}

// clocks reports whether clocks can be set here.
func (g *rig) clocks() bool {
	err := g.s.Jump(0, nil)
	if err != nil && !errors.Is(err, harness.ErrNoClock) {
		g.complain("%v", err)
	}
	if err != nil {
		g.t.Logf("the clock never jumps: %v", err)
	}
	return err == nil
}
