package main

import (
	"testing"

	"pinion/runtime/metrics"
	"pinion/runtime/supervise"
)

func TestAttendanceCountsStartsAndExits(t *testing.T) {
	type status = supervise.Status
	for _, c := range []struct {
		what     string
		statuses []status
		starts   int
		exits    map[string]int
	}{
		{"one that stays", []status{{}, {PID: 1}, {PID: 1, State: supervise.Setup}, {PID: 1, State: supervise.Ready}}, 1, nil},
		{"one that fails in its setup", []status{{PID: 1, State: supervise.Setup}, {State: supervise.Gone}}, 1, map[string]int{"setup": 1}},
		{"one that crashes, and the next", []status{{PID: 1, State: supervise.Ready}, {State: supervise.Gone}, {State: supervise.Gone}, {PID: 2}}, 2, map[string]int{"crash": 1}},
		{"one that is told to leave", []status{{PID: 1, State: supervise.Ready}, {PID: 1, State: supervise.Draining}, {State: supervise.Gone}}, 1, map[string]int{"left": 1}},
		{"one whose successor takes over", []status{{PID: 1, State: supervise.Ready}, {PID: 2, State: supervise.Ready}, {PID: 2, State: supervise.Ready}}, 2, map[string]int{"left": 1}},
	} {
		counted := &counts{exits: map[string]int{}}
		a := attendance{set: counted}
		for _, st := range c.statuses {
			a.look(func() supervise.Status { return st })
		}
		if counted.starts != c.starts {
			t.Errorf("%s: %d starts, want %d", c.what, counted.starts, c.starts)
		}
		for _, cause := range []string{metrics.ExitSetup, metrics.ExitCrash, metrics.ExitLeft} {
			if counted.exits[cause] != c.exits[cause] {
				t.Errorf("%s: %d exits by %s, want %d", c.what, counted.exits[cause], cause, c.exits[cause])
			}
		}
	}
}

// counts counts what attendance tells.
type counts struct {
	starts int
	exits  map[string]int
}

func (c *counts) WorkerStarted()            { c.starts++ }
func (c *counts) WorkerExited(cause string) { c.exits[cause]++ }
