package batch

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

// A scene is a View of one worker that is idle at 1 s, with some experience.
func scene(ready int, teach func(a *Arrivals)) View {
	v := View{
		Now: time.Second, Ready: ready, Waiting: ready, Idle: 1, HoldStart: time.Second,
		Cost: taught(line("", 20*ms, 100*us), 1, 8, 32), Arrivals: &Arrivals{},
	}
	if teach != nil {
		teach(v.Arrivals)
	}
	return v
}

// every teaches that arrivals are so far apart, the last of them at 1 s.
func every(gap time.Duration) func(*Arrivals) {
	return func(a *Arrivals) {
		for i := 100; i >= 0; i-- {
			a.Arrived(time.Second-time.Duration(i)*gap, "")
			a.WorkerIdle()
		}
	}
}

// back teaches that clients are back so long after the end of their batch, and that one of so many has just ended.
func back(n int, delay time.Duration) func(*Arrivals) {
	return func(a *Arrivals) {
		for i := 20; i > 0; i-- {
			at := time.Second - time.Duration(i)*20*ms
			a.Ended(at, n)
			for range n {
				a.Arrived(at+delay, "")
			}
		}
		a.Ended(time.Second, n)
	}
}

func policy() Policy { return Policy{Options{MaxSize: 32}} }

func TestPolicy_Decide(t *testing.T) {
	cases := []struct {
		name  string
		view  View
		waits bool
	}{
		{"nothing is known", scene(1, nil), false},
		{"the next one is far", scene(1, every(30*ms)), false},
		{"the next one is near", scene(1, every(500*us)), true},
		{"near, but many wait for it", scene(31, every(1500*us)), false},
		{"near, but beyond a tenth of the batch's time", scene(1, every(4*ms)), false},
		{"they come back", scene(1, back(31, 300*us)), true},
		{"they come back too late", scene(1, back(31, 8*ms)), false},
		{"it is full", scene(32, every(10*us)), false},
		{"it is more than full", scene(40, every(10*us)), false},
	}
	for _, c := range cases {
		d := policy().Decide(c.view)
		switch {
		case c.waits && (d.Run != 0 || d.Until <= c.view.Now):
			t.Errorf("%s: %+v, want to wait", c.name, d)
		case !c.waits && d.Run != min(32, c.view.Ready):
			t.Errorf("%s: %+v, want to run", c.name, d)
		}
	}
}

func TestPolicy_DecideWaitsNoLongerThanItPays(t *testing.T) {
	// All are back within 300 µs; an item that has not arrived by then does not come.
	d := policy().Decide(scene(1, back(31, 300*us)))
	wait := d.Until - time.Second
	assert.True(t, wait >= 300*us && wait <= 500*us, "waits %v, want %v to %v", wait, 300*us, 500*us)
	v := scene(1, every(500*us))
	v.Now += 700 * us // it is overdue
	assert.Equal(t, "an arrival that failed to come: Run", policy().Decide(v).Run, 1)
}

func TestPolicy_DecideKeepsBounds(t *testing.T) {
	v := scene(1, every(500*us))
	v.HoldStart = v.Now - 5*ms
	assert.Equal(t, "held for 5 ms: Run", policy().Decide(v).Run, 1)
	v.HoldStart = v.Now
	never := Policy{Options{MaxSize: 32, MaxWait: AtMost(0)}}
	assert.Equal(t, "never waits: Run", never.Decide(v).Run, 1)
	short := Policy{Options{MaxSize: 32, MaxWait: AtMost(450 * us)}}
	assert.Equal(t, "it comes after 500 µs and the bound is 450: Run", short.Decide(v).Run, 1)
	// A fixed bound replaces the adaptive one: 4 ms is beyond a tenth of 20 ms, and pays nevertheless.
	long := Policy{Options{MaxSize: 32, MaxWait: AtMost(10 * ms)}}
	if d := long.Decide(scene(1, every(4*ms))); d.Run != 0 || d.Until > time.Second+10*ms {
		t.Errorf("a fixed bound of 10 ms: %+v, want Run 0 and Until at most %v", d, time.Second+10*ms)
	}
	v.Deadline = v.Now + 600*us
	assert.Equal(t, "the deadline is in 600 µs, the next one in 500: Run", policy().Decide(v).Run, 1)
}

func TestPolicy_DecideWithOthersAround(t *testing.T) {
	v := scene(1, every(2*ms-100*us))
	assert.EqualNow(t, "alone, where it is to wait: Run", policy().Decide(v).Run, 0)
	v.Idle = 8
	assert.Equal(t, "with seven other idle workers: Run", policy().Decide(v).Run, 1)
	v.Idle, v.Waiting = 1, 20
	assert.Equal(t, "with nineteen of other keys: Run", policy().Decide(v).Run, 1)
	// The keys of the arrivals take turns: what comes next is of another key.
	v = scene(2, func(a *Arrivals) {
		for i := 300; i >= 0; i-- {
			a.Arrived(time.Second-time.Duration(i)*500*us, string(rune('a'+i%2)))
			a.WorkerIdle()
		}
	})
	v.Waiting = 3
	assert.Equal(t, "keys that take turns: Run", policy().Decide(v).Run, 2)
}

func TestPolicy_DecideLeavesStepToNext(t *testing.T) {
	v := scene(20, every(time.Second))
	v.Cost = taught(steps(), 1, 2, 4, 8, 12, 16, 20, 27, 32)
	assert.Equal(t, "how many of 20: Run", policy().Decide(v).Run, 16)
}
