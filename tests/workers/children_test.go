package workers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestChildren_ModelsMayStartProcessesAndThreads(t *testing.T) {
	t.Parallel()
	cases := []struct{ what, method, want string }{
		{"threads", "", `[0, 1, 4, 9, 16]`},
		{"subprocess", "", `[true, true, true]`},
		{"preexec", "", `"ran\n"`},
		{"spawn", "", `7`},
		{"pty", "", `"from a terminal"`},
		{"forked_work", "", `["thread", "sub", "signal"]`},
		{"crashing", "", `-11`},
		{"many_forks", "", `50`},
	}
	for _, method := range []string{"fork", "spawn", "forkserver"} {
		cases = append(cases, []struct{ what, method, want string }{
			{"pool", method, `[0, 2, 4, 6, 8]`},
			{"executor", method, `[0, 1, 4, 9, "cog.predictor"]`},
			{"process", method, `[-15]`},
			{"loader", method, `[[0, 1, 4, 9, 16, 25, 36, 49], true]`},
			{"manager", method, `[1, 2]`},
		}...)
	}
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "children.py"})
		for _, c := range cases {
			a := s.Succeed(harness.Input{"what": c.what, "method": c.method})
			harness.EqualJSON(t, c.what+" "+c.method, a.Output, c.want)
			assert.True(t, a.Logs == "" || c.what == "crashing", "%s %s wrote %q, want crashing", c.what, c.method, a.Logs)
		}
		h := s.Health()
		assert.Equal(t, "restarts", h.Workers[0].Restarts, 0)
	})
}

func TestChildren_ForkedChildThatComesBackDoesNotAnswer(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "children.py"})
		worker := s.Worker()
		for range 3 {
			harness.EqualJSON(t, "returning", s.Succeed(harness.Input{"what": "returning"}).Output, `"parent 0"`)
			raised := s.Succeed(harness.Input{"what": "raising"})
			harness.EqualJSON(t, "raising", raised.Output, `"parent 1"`)
			assert.Contains(t, "the child's traceback", raised.Logs, "Traceback", "children.py", "ValueError: in the child")
			harness.EqualJSON(t, "leaving", s.Succeed(harness.Input{"what": "leaving"}).Output, `"parent 5"`)
		}
		harness.EqualJSON(t, "answers", s.Succeed(harness.Input{"what": "count"}).Output, `10`)
		harness.SameWorker(t, s, worker)
	})
}

func TestChildren_ForkedChildOfSetupDoesNotServe(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "setups.py:Forking"})
	for range 3 {
		harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, `true`)
	}
}

func TestChildren_PoolsStayFromOnePredictionToNext(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"fork", "spawn"} {
		s := harness.Ready(t, harness.Options{Model: "children.py"})
		first := string(s.Succeed(harness.Input{"what": "pool_workers", "method": method}).Output)
		for range 3 {
			assert.Equal(t, method+": the pool's process",
				string(s.Succeed(harness.Input{"what": "pool_workers", "method": method}).Output), first)
		}
		s.Stop() // must not wait for ever for the pool's process
	}
}

func TestChildren_DaemonEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "children.py", Args: []string{"--queue", "4"}})
	worker := s.Worker()
	var daemon int
	s.Succeed(harness.Input{"what": "daemon"}).Decode(t, &daemon)
	assert.TrueNow(t, harness.Alive(daemon),
		"the daemon has not outlived its prediction")
	harness.SendSignal(t, worker, syscall.SIGKILL)
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{"what": "threads"}).Output, `[0, 1, 4, 9, 16]`)
	assert.False(t, harness.Alive(daemon),
		"a daemon that outlives its worker")
}

func TestChildren_WhatModelLeavesBehindEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *harness.Server){
		"stop":         func(s *harness.Server) { s.Stop() },
		"crash":        func(s *harness.Server) { _ = syscall.Kill(s.Worker(), syscall.SIGKILL) },
		"front killed": func(s *harness.Server) { s.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Ready(t, harness.Options{Model: "children.py"})
			var left int
			s.Succeed(harness.Input{"what": "background"}).Decode(t, &left)
			assert.TrueNow(t, harness.Alive(left),
				"the child has not outlived its prediction")
			end(s)
			assert.Eventually(t, "the child ends", func() bool { return !harness.Alive(left) })
		})
	}
}

// TestChildren_WaitsOfModelArePunctual: the kernel ends sleeps and time limits up to 50 µs late where a process does
// not ask it not to.
func TestChildren_WaitsOfModelArePunctual(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	for _, s := range []*harness.Server{
		harness.Ready(t, harness.Options{Python: python.Path, Model: "children.py"}),
		preloaded(t, harness.Options{Python: python.Path}),
	} {
		assert.Equal(t, "how late those of the worker may end", timerSlack(t, s.Worker()), "1")
	}
}

// TestChildren_WaitsOfFrontAreNot: it would spend its time on looking whether its threads hang.
func TestChildren_WaitsOfFrontAreNot(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Python: harness.AnyPython(t).Path, Model: "children.py"})
	threads := assert.Must(os.ReadDir(fmt.Sprintf("/proc/%d/task", s.PID)))(t)
	for _, thread := range threads {
		id := assert.Must(strconv.Atoi(thread.Name()))(t)
		assert.Equal(t, fmt.Sprintf("how late those of its thread %d may end", id), timerSlack(t, id), "500000")
	}
}

// timerSlack is how late the kernel may end a thread's waits, in nanoseconds.
func timerSlack(t *testing.T, thread int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", thread))
	if err != nil {
		t.Skipf("the kernel does not tell: %v", err)
	}
	return strings.TrimSpace(string(text))
}
