package workers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestFleet_PlaceInLine(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "8"}})
	open, running := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	var waiting []*harness.Request
	for _, name := range harness.Numbered("waiting", 4) {
		waiting = append(waiting, s.Request(name, harness.Input{}))
	}
	for i, name := range append([]string{"running"}, harness.Numbered("waiting", 4)...) {
		a := s.Do(http.MethodGet, "/predictions/"+name, nil)
		assert.True(t, strings.Contains(string(a.Body), fmt.Sprintf(`"queue_position":%d`, i)) == (i > 0),
			"%s: %s, want %t", name, a, i > 0)
	}
	open()
	harness.Receive(t, running)
	for _, v := range waiting {
		harness.Receive(t, v.Answer)
	}
	a := s.Do(http.MethodGet, "/predictions/waiting3", nil)
	assert.True(t, a.Status == "succeeded" && !strings.Contains(string(a.Body), "queue_position"),
		`afterwards: %s, want Status succeeded and Body without "queue_position"`, a)
}

// TestFleet_AcceptedInOrder: what was answered 202 has its place in the line by then.
func TestFleet_AcceptedInOrder(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "200"}})
	open, running := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	names := harness.Numbered("waiting", 150)
	for i, name := range names {
		if a := s.Create(map[string]any{"id": name, "input": harness.Input{}}, "Prefer",
			"respond-async"); a.Code != http.StatusAccepted {
			t.Fatalf("%s: %s, want Code 202", name, a)
		}
		a := s.Do(http.MethodGet, "/predictions/"+name, nil)
		want := fmt.Sprintf(`"queue_position":%d`, i+1)
		assert.True(t, strings.Contains(string(a.Body), want), "%s: want %s: %s", name, want, a)
	}
	open()
	harness.Receive(t, running)
	for _, name := range names {
		assert.Eventually(t, name+" is done", func() bool {
			return s.Do(http.MethodGet, "/predictions/"+name, nil).Status == "succeeded"
		})
	}
}

func TestFleet_GPUsAreSharedOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, env []string
		devices   []string
	}{
		{[]string{"--gpus", "0;1;2,3"}, nil, []string{"0", "1", "2,3"}},
		{[]string{"--gpus", "each"}, []string{"CUDA_VISIBLE_DEVICES=3,GPU-12ab34cd"}, []string{"3", "GPU-12ab34cd"}},
		{[]string{"--workers", "auto"}, []string{"CUDA_VISIBLE_DEVICES=5,6", "PINION_GPUS=each"}, []string{"5", "6"}},
		{[]string{"--gpus", "MIG-12ab;MIG-34cd"}, []string{"CUDA_VISIBLE_DEVICES=0"}, []string{"MIG-12ab", "MIG-34cd"}},
	} {
		s := fleet(t, harness.Options{Args: append(c.args, "--queue", "100"), Env: c.env})
		h := harness.WaitWorkers(t, s, len(c.devices), 0)
		var devices []string
		for _, w := range h.Workers {
			devices = append(devices, w.Device)
		}
		assert.EqualSlices(t, fmt.Sprintf("%q", c.args), devices, c.devices)
		seen := map[string]string{}
		assert.Eventually(t, "every worker has answered", func() bool {
			clientLoad := startClients(s, 2*len(devices), plain)
			clientLoad.more(t, len(devices))
			clientLoad.stopAll()
			got := workerOf(t, s.Succeed(harness.Input{}))
			seen[got.pid] = got.gpus
			return len(seen) == len(devices)
		})
		for _, w := range h.Workers {
			assert.Equal(t, fmt.Sprintf("%q: the worker with %q sees", c.args, w.Device), seen[strconv.Itoa(w.PID)], w.Device)
		}
	}
	harness.WantRefused(t, harness.Options{
		Model: "fleet.py", Args: []string{"--gpus", "each", "--workers", "3"}, Env: []string{"CUDA_VISIBLE_DEVICES=0,1"},
	}, 2, "3 workers need a GPU each, but only 2 are visible")
}

// TestFleet_Deadline: what was not begun by then never is, be it that a slot was free, or not.
func TestFleet_Deadline(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "8"}})
	create := func(token, deadline string) harness.Answer {
		return s.Create(map[string]any{"input": harness.Input{"token": token}}, "Pinion-Deadline", deadline)
	}
	harness.WantStatus(t, "in time", create("in-time", "60"), "succeeded")
	for _, deadline := range []string{"0", "2020-01-01T00:00:00Z"} {
		a := create("late", deadline)
		harness.WantCode(t, "late", a, http.StatusRequestTimeout)
		assert.Equal(t, "Pinion-Retry of a late one", a.Header.Get("Pinion-Retry"), "elsewhere")
	}
	harness.WantCode(t, "no deadline", create("odd", "soon"), http.StatusUnprocessableEntity)
	open, running := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	harness.WantCode(t, "behind another", create("behind", "0.1"), http.StatusRequestTimeout)
	open()
	harness.Receive(t, running)
	s.Succeed(harness.Input{})
	counts := harness.WantOnce(t, harness.ModelLines(t, s, "ran.txt"))
	assert.True(t, len(counts) == 2 && counts["in-time"] == 1 && counts["running"] == 1,
		`the model ran %v, want len(counts) 2, counts["in-time"] 1 and counts["running"] 1`, counts)
}

func TestFleet_HealthDescribesEachWorker(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "7"}})
	for range 3 {
		s.Succeed(harness.Input{})
	}
	w := s.Health().Workers[0]
	assert.True(t, w.Busy == 0 && w.BusySince == "" && w.Served == 3 && w.MemoryBytes >= 1<<20 && w.State == "ready" &&
		w.LastExit == "",
		"idle: %+v, want Busy 0, BusySince empty, Served 3, MemoryBytes at least %d, State ready and LastExit empty", w,
		1<<20)
	before := time.Now().Add(-time.Millisecond)
	open, running := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	var waiting []*harness.Request
	for _, name := range harness.Numbered("waiting", 4) {
		waiting = append(waiting, s.Request(name, harness.Input{}))
	}
	h := s.Health()
	w = h.Workers[0]
	since, err := time.Parse(time.RFC3339, w.BusySince)
	assert.True(t, err == nil && !since.Before(before) && !since.After(time.Now()) && w.Busy >= 1 && w.Served == 3,
		"busy: got %+v, want it busy since its prediction began, and 3 served", w)
	assert.True(t, h.Queue != nil && h.Queue.Capacity == 7 && h.Queue.Length+w.Busy == 5,
		"the queue is %+v, the worker has %d, want Capacity 7 and h.Queue.Length+w.Busy 5", h.Queue, w.Busy)
	open()
	harness.WantStatus(t, "the answer", harness.Receive(t, running), "succeeded")
	for _, v := range waiting {
		harness.Receive(t, v.Answer)
	}
}

func TestFleet_PredictTimeout(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := fleet(t, harness.Options{
			Python: python.Path, Args: []string{"--predict-timeout", "1s", "--cancel-grace", "1s", "--queue", "4"},
		})
		a := s.Fail(harness.Input{"do": "sleep"})
		assert.Contains(t, "error", a.Error, "Prediction timed out: it ran for longer than 1s")
		took, _ := a.Metrics["predict_time"].(float64)
		assert.True(t, took >= 1, "it took %v: got %v, want at least 1", a.Metrics, took)
		worker := workerOf(t, s.Succeed(harness.Input{})).pid
		a = s.Fail(harness.Input{"do": "swallow"}) // the worker has to go
		assert.Contains(t, "error", a.Error, "Prediction timed out: it ran for longer than 1s")
		if after := workerOf(t, s.Succeed(harness.Input{})).pid; after == worker {
			t.Errorf("the worker that does not end is still there: got %.300q, want anything but %q", after, worker)
		}
	})
}

func TestFleet_StoppedWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--hang-timeout", "1s", "--queue", "4"}})
	first := workerOf(t, s.Succeed(harness.Input{})).pid
	harness.SendSignal(t, s.Worker(), syscall.SIGSTOP)
	second := workerOf(t, s.Succeed(harness.Input{})).pid
	assert.True(t, second != first, "the stopped worker answers: got %.300q, want anything but %q", second, first)
	w := s.WaitHealth("READY").Workers[0]
	assert.Contains(t, "last exit", w.LastExit, "killed by the server",
		"it has not answered on its control channel for 1s")
	// A model that is deep in C code, and holds Python's lock, does not hang.
	deep := fleet(t, harness.Options{Args: []string{"--hang-timeout", "1s"}})
	worker := deep.Worker()
	deep.Succeed(harness.Input{"do": "compute"})
	harness.SameWorker(t, deep, worker)
}

func TestFleet_StoppedServerReplacesNoWorker(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--hang-timeout", "1s"}})
	worker := s.Worker()
	s.Signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second) // longer than a worker may be silent; a stopped server has no state to wait for
	s.Signal(syscall.SIGCONT)
	for range 5 {
		s.Succeed(harness.Input{})
	}
	harness.SameWorker(t, s, worker)
}

func TestFleet_WorkersAreRecycledUnderLoad(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--max-requests", "200", "--queue", "32", "--workers", "2"}})
	clients := startClients(s, 8, plain)
	assert.Eventually(t, "workers were replaced five times", func() bool {
		n := 0
		for _, w := range s.Health().Workers {
			n += w.Restarts
		}
		return n >= 5
	})
	for _, a := range clients.stopAll() {
		t.Errorf("got %s, want every prediction answered", a)
	}
	assert.Eventually(t, "the log says why",
		func() bool { return strings.Contains(s.Log.String(), "it has answered 200 predictions") })
}

func TestFleet_WorkerWithTooMuchMemoryIsReplaced(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--max-rss", "150MiB", "--queue", "4"}})
	first := workerOf(t, s.Succeed(harness.Input{})).pid
	s.Succeed(harness.Input{"do": "grow"})
	h := harness.WaitWorkers(t, s, 1, 1)
	if second := workerOf(t, s.Succeed(harness.Input{})).pid; second == first || h.Workers[0].MemoryBytes > 150<<20 {
		t.Errorf("worker %s was followed by %s, which has %d bytes, want not %q and at most %d", first, second,
			h.Workers[0].MemoryBytes, first, 150<<20)
	}
}

func TestFleet_LostGPUContextRetiresWorker(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "4"}})
	first := workerOf(t, s.Succeed(harness.Input{})).pid
	a := s.Fail(harness.Input{"do": "lose_gpu"})
	assert.Contains(t, "error", a.Error, "an illegal memory access was encountered")
	second := workerOf(t, s.Succeed(harness.Input{})).pid
	assert.True(t, second != first, "the same worker answers: got %.300q, want anything but %q", second, first)
	assert.Contains(t, "last exit", s.WaitHealth("READY").Workers[0].LastExit, "its GPU context is lost",
		"an illegal memory access was encountered")
}

// TestFleet_RemovedCacheDoesNotBreakRestarts: the package that workers import is put back.
func TestFleet_RemovedCacheDoesNotBreakRestarts(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	s := fleet(t, harness.Options{Args: []string{"--queue", "4"}, Env: []string{"XDG_CACHE_HOME=" + cache}})
	for _, spoil := range []func() error{
		func() error { return os.RemoveAll(filepath.Join(cache, "pinion")) },
		func() error { return os.RemoveAll(cache) },
	} {
		before := workerOf(t, s.Succeed(harness.Input{})).pid
		assert.NoError(t, spoil())
		harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
		assert.Eventually(t, "another worker is ready", func() bool {
			h := s.Health()
			return h.Status == "READY" && strconv.Itoa(h.Workers[0].PID) != before
		})
		s.Succeed(harness.Input{})
	}
}

// TestFleet_OrphansAreReaped where the server adopts them: as the first process of a container, or by prctl(2).
func TestFleet_OrphansAreReaped(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string][]string{
		"subreaper": {
			harness.AnyPython(t).Path, "-c",
			"import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])",
		},
		"first process": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if wrap == nil {
				wrap = harness.AsFirstProcess(t)
			}
			s := fleet(t, harness.Options{Wrap: wrap, Args: []string{"--queue", "4"}})
			for range 10 {
				s.Succeed(harness.Input{"do": "orphan"})
			}
			assert.Eventually(t, "no zombie is left", func() bool { return len(harness.Zombies(s)) == 0 })
			a := s.Fail(harness.Input{"do": "lose_gpu"}) // and the workers' exits are theirs
			assert.Contains(t, "error", a.Error, "CUDA error")
			s.Succeed(harness.Input{})
			s.Do(http.MethodPost, "/shutdown", nil)
			s.Ended(0)
		})
	}
}

// TestFleet_OutOfMemoryIsNoKill where control groups can be made.
func TestFleet_OutOfMemoryIsNoKill(t *testing.T) {
	t.Parallel()
	group, enter, ok := harness.MemoryGroup(t, 400<<20)
	if !ok {
		t.Skip("no control group can be made here")
	}
	s := fleet(t, harness.Options{Wrap: enter, Args: []string{"--queue", "4", "--log-level", "debug"}})
	assert.Contains(t, "the limit is said to be", s.WaitLog("the front's memory has a soft limit").Raw,
		fmt.Sprintf(`"bytes":%d`, 200<<20))
	a := s.Fail(harness.Input{"do": "grow_without_end"})
	assert.Contains(t, "error", a.Error,
		"worker killed (SIGKILL) while running this prediction, out of memory: the kernel ended it", "400 MiB")
	s.Succeed(harness.Input{})
	s.Stop()
	_ = os.Remove(group)

	s = fleet(t, harness.Options{Args: []string{"--queue", "4"}})
	answer := s.Begin("killed", harness.Input{"do": "sleep", "token": "killed"})
	assert.Eventually(t, "it runs", func() bool { return len(harness.ModelLines(t, s, "ran.txt")) == 1 })
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
	assert.Contains(t, "error", harness.Receive(t, answer).Error, "worker killed (SIGKILL) while running this prediction")
}
