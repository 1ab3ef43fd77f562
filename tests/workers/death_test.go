package workers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestDeath_WorkersDeathFailsItsPredictionWithCause(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "dying.py", Args: []string{"--queue", "4"}})
		for _, c := range []struct {
			how, cause string
			logs       []string
		}{
			{
				"segfault", "worker killed by SIGSEGV while running this prediction",
				[]string{"dying segfault\n", "Fatal Python error: Segmentation fault", "dying.py", "in segfault"},
			},
			{
				"segfault_in_thread", "worker killed by SIGSEGV while running this prediction",
				[]string{"Fatal Python error: Segmentation fault", "dying.py"},
			},
			{
				"abort", "worker killed by SIGABRT while running this prediction",
				[]string{"Fatal Python error: Aborted", "dying.py", "in abort"},
			},
			{
				"fpe", "worker killed by SIGFPE while running this prediction",
				[]string{"Fatal Python error: Floating", "dying.py"},
			},
			{
				"bus", "worker killed by SIGBUS while running this prediction",
				[]string{"Fatal Python error: Bus error", "dying.py"},
			},
			{"exit_3", "worker exited with code 3 while running this prediction", []string{"dying exit_3"}},
			{"exit_0", "worker exited with code 0 while running this prediction", []string{"dying exit_0"}},
			{"terminate", "worker killed by SIGTERM while running this prediction", []string{"dying terminate"}},
		} {
			a := s.Fail(harness.Input{"how": c.how})
			assert.True(t, strings.HasPrefix(a.Error, c.cause), "%s: error is %q, want %q", c.how, a.Error, c.cause)
			for _, text := range c.logs {
				assert.Contains(t, c.how, a.Logs, text)
			}
			assert.False(t, strings.Contains(a.Logs, "goroutine "),
				"%s: Go's dump is in the logs, want no \"goroutine \" in it:\n%s", c.how, a.Logs)
			_, ok := a.Metrics["predict_time"]
			assert.True(t, ok, "%s: no predict_time in %s", c.how, a)
			// A success, so that the next death is the first one again; the queue keeps it until the new worker is ready.
			assert.Equal(t, c.how+": logs of the next prediction", s.Succeed(harness.Input{"token": "after-" + c.how}).Logs, "")
		}
		h := s.WaitHealth("READY") // its first answer, to what had waited, comes a moment before
		assert.Equal(t, "restarts of the first worker", h.Workers[0].Restarts, 8)
		assert.Contains(t, "h.Workers[0].LastExit", h.Workers[0].LastExit, "SIGTERM")
	})
}

// TestDeath_FaultHandlersTextFollowsWhatWasPrinted: the two come by different pipes, and the dead worker marked no
// order.
func TestDeath_FaultHandlersTextFollowsWhatWasPrinted(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "4"}})
	for range 10 {
		a := s.Fail(harness.Input{"how": "segfault"})
		assert.Contains(t, "logs", a.Logs, "dying segfault\n", "Fatal Python error: Segmentation fault\n", "in segfault\n")
		s.Succeed(harness.Input{})
	}
}

func TestDeath_WorkerKilledFromOutsideIsSaidToBeLikelyOutOfMemory(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py"})
	answer := s.Begin("killed", harness.Input{"how": "outside"})
	s.WaitLog("pid " + strconv.Itoa(s.Worker()))
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
	a := harness.Receive(t, answer)
	if a.Status != "failed" || !strings.Contains(a.Error, "SIGKILL") || !strings.Contains(a.Error, "out of memory") {
		t.Errorf(`got %s, want Status failed and Error with "SIGKILL" and with "out of memory"`, a)
	}
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}

func TestDeath_IdleWorkerThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"dying.py", "tasks.py"} {
		s := harness.Ready(t, harness.Options{Model: model, Args: []string{"--queue", "1"}})
		s.Succeed(harness.Input{})
		worker := s.Worker()
		harness.SendSignal(t, worker, syscall.SIGKILL)
		assert.Eventually(t, "another worker is ready", func() bool {
			h := s.Health()
			return h.Status == "READY" && h.Workers[0].PID != worker
		})
		s.Succeed(harness.Input{})
	}
}

func TestDeath_SaysTrueCauseOfSIGKILL(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"shut_control":    "channel to the server",
		"use_up_cpu":      "limit of CPU time (RLIMIT_CPU is 1s",
		"use_up_soft_cpu": "SIGXCPU while running this prediction (its limit of CPU time, RLIMIT_CPU, is used up)",
		"kill_itself":     "by the model's code or another process",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "4"}})
			a := s.Fail(harness.Input{"how": how})
			if how == "kill_itself" && strings.Contains(a.Error, "out of memory: ") {
				return // the kernel does not count
			}
			assert.Contains(t, "error", a.Error, want)
		})
	}
}

// TestDeath_NamesLimitsThatModelSet for its own process: the worker, too, needs descriptors, memory and threads.
func TestDeath_NamesLimitsThatModelSet(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "4"}})
	assert.Contains(t, "the error of one that exits", s.Fail(harness.Input{"how": "limit_memory"}).Error,
		"worker exited with code 3", "RLIMIT_AS is 1048576 (the server's: ")
	s.Succeed(harness.Input{})
	s.Succeed(harness.Input{"how": "limit_files"})
	assert.Eventually(t, "the last exit names the limit of descriptors", func() bool {
		return strings.Contains(s.Health().Workers[0].LastExit, "RLIMIT_NOFILE is 0 (the server's: ")
	})
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}

// TestDeath_NamesLimitBeforeFirstPrediction where the worker cannot begin to serve, and does not end as if in order.
func TestDeath_NamesLimitBeforeFirstPrediction(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Model: "dying.py:Limited", Args: []string{"--concurrency", "4"}})
	exit := ""
	assert.Eventually(t, "the worker has ended", func() bool {
		exit = s.Health().Workers[0].LastExit
		return exit != ""
	})
	assert.Contains(t, "the last exit", exit, "RLIMIT_AS is 1048576 (the server's: ")
	assert.False(t, strings.Contains(exit, "code 0"), "got %q, want an exit code that tells of a fault", exit)
}

func TestDeath_WorkerThatClosesItsChannelsIsEnded(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "4"}})
	a := s.Fail(harness.Input{"how": "close_everything"})
	assert.Contains(t, "error", a.Error, "worker")
	s.Succeed(harness.Input{})
}

// TestDeath_AllPredictionsNameClosedChannel, also those beside the one whose code closed it.
func TestDeath_AllPredictionsNameClosedChannel(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "dying.py:Async", Args: []string{"--concurrency", "2"},
		})
		beside := s.Begin("beside", harness.Input{})
		s.WaitLog("begun")
		assert.Contains(t, "the error of the one that closes", s.Fail(harness.Input{"close": true}).Error, "closed",
			"channel to the server")
		assert.Contains(t, "the error of the one beside", harness.Receive(t, beside).Error, "closed", "channel to the server")
	})
}

// TestDeath_WhatWaitedIsAnsweredByNextWorkerExactlyOnce: what lay in the dead worker's socket and what was queued.
func TestDeath_WhatWaitedIsAnsweredByNextWorkerExactlyOnce(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "dying.py", Args: []string{"--queue", "50"}})
		s.Succeed(harness.Input{"token": "before"})
		open, first := harness.BeginAtGate(t, s, harness.Input{"token": "first", "how": "abort"})
		old := s.Worker()
		var waiting []*harness.Request
		for _, name := range harness.Numbered("waiting", 12) {
			waiting = append(waiting, s.Request(name, harness.Input{"token": name}))
		}
		open()
		harness.WantFailed(t, "first", harness.Receive(t, first), "SIGABRT")
		pids := map[string]bool{}
		for i, v := range waiting {
			a := harness.Receive(t, v.Answer)
			if a.Status != "succeeded" {
				t.Errorf("waiting%d: %s, want Status succeeded", i, a)
				continue
			}
			pid, token, _ := strings.Cut(a.Text(t), " ")
			pids[pid] = true
			assert.Equal(t, fmt.Sprintf("the answer of waiting%d", i), token, fmt.Sprintf("waiting%d", i))
		}
		assert.True(t, len(pids) == 1 && !pids[strconv.Itoa(old)],
			"answered by %v; the worker that died was %d, want len(pids) 1 and pids[strconv.Itoa(old)] false", pids, old)
		assert.Equal(t, "predictions that the model ran", len(harness.WantOnce(t, harness.ModelLines(t, s, "ran.txt"))), 14)
	})
}

func TestDeath_WithoutQueueRestartIsAnsweredByRefusal(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py"})
	s.Fail(harness.Input{"how": "abort"})
	a := s.Input(harness.Input{})
	if a.Code != http.StatusOK { // it may be back already
		harness.WantCode(t, "during the restart", a, http.StatusServiceUnavailable)
		assert.Contains(t, "string(a.Body)", string(a.Body), "SIGABRT")
		assert.Equal(t, `a.Header.Get("Pinion-Retry")`, a.Header.Get("Pinion-Retry"), "elsewhere")
	}
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}

func TestDeath_WithoutRestartsServerIsDefunct(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--restart", "never", "--queue", "9"}})
	open, first := harness.BeginAtGate(t, s, harness.Input{"token": "first", "how": "segfault"})
	var waiting []*harness.Request
	for _, name := range harness.Numbered("waiting", 5) {
		waiting = append(waiting, s.Request(name, harness.Input{"token": name}))
	}
	open()
	harness.WantFailed(t, "first", harness.Receive(t, first), "SIGSEGV")
	for _, v := range waiting {
		harness.WantCode(t, "what waited", harness.Receive(t, v.Answer), http.StatusServiceUnavailable)
	}
	s.WaitHealth("DEFUNCT")
	a := s.Input(harness.Input{})
	harness.WantCode(t, "afterwards", a, http.StatusServiceUnavailable)
	assert.Contains(t, "string(a.Body)", string(a.Body), "SIGSEGV")
	assert.Equal(t, `a.Header.Get("Pinion-Retry")`, a.Header.Get("Pinion-Retry"), "elsewhere")
	assert.Equal(t, "the model ran", strings.Join(harness.ModelLines(t, s, "ran.txt"), " "), "first")
	harness.WantCode(t, "schema", s.Do(http.MethodGet, "/openapi.json", nil), http.StatusOK)
}

func TestDeath_FiveDeathsWithoutSuccessMakeServerDefunct(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "1"}})
	for i := range 5 {
		a := s.Fail(harness.Input{"how": "exit_3"})
		assert.Contains(t, fmt.Sprintf("death %d", i), a.Error, "code 3")
	}
	h := s.WaitHealth("DEFUNCT")
	assert.True(t, h.Workers[0].NextStart != "", "got no next_start, want the time of the next try")
	a := s.Input(harness.Input{})
	harness.WantCode(t, "afterwards", a, http.StatusServiceUnavailable)
	assert.Contains(t, "the refusal", string(a.Body), "defunct until a worker is tried again", "code 3")
	assert.True(t, a.Header.Get("Retry-After") != "", "got no Retry-After, want some text")
	harness.WantCode(t, "liveness", s.Do(http.MethodGet, "/livez", nil), http.StatusOK)
	s.WaitHealth("READY") // by itself, half a minute later
	s.Succeed(harness.Input{})
}

func TestDeath_OtherWorkersAreNotDisturbed(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--workers", "2", "--queue", "10"}})
	harness.WaitWorkers(t, s, 2, 0)
	open, staying := harness.BeginAtGate(t, s, harness.Input{"token": "staying"})
	for range 3 {
		s.Fail(harness.Input{"how": "abort"})
		s.Succeed(harness.Input{})
	}
	open()
	harness.WantStatus(t, "staying", harness.Receive(t, staying), "succeeded")
}

func TestDeath_WhatDyingWorkerStartedDiesWithIt(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py"})
	a := s.Fail(harness.Input{"how": "with_children"})
	_, after, _ := strings.Cut(a.Logs, "child ")
	child := assert.Must(strconv.Atoi(strings.Fields(after)[0]))(t)
	assert.Eventually(t, "the child ends", func() bool { return !harness.Alive(child) })
}
