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

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// edit makes the model that of a generation. Each has another length: Python takes its bytecode for good where a
// file's length and its time, in seconds, are as they were.
func edit(t testing.TB, s *harness.Server, generation int) {
	t.Helper()
	editFile(t, filepath.Join(s.Dir, "fleet.py"), fmt.Sprintf("GENERATION = %d ", generation-1),
		fmt.Sprintf("GENERATION = %d  #", generation))
}

func TestReload_UnderLoad(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "32", "--workers", "2"}})
	harness.WaitWorkers(t, s, 2, 0)
	clients := startClients(s, 8, plain)
	for generation := 2; generation <= 4; generation++ {
		edit(t, s, generation)
		s.Signal(syscall.SIGHUP)
		harness.WaitWorkers(t, s, 2, 2*(generation-1))
		assert.Equal(t, "generation", workerOf(t, s.Succeed(harness.Input{})).generation, strconv.Itoa(generation))
	}
	for _, a := range clients.stopAll() {
		t.Errorf("got %s, want every prediction answered", a)
	}
}

// TestReload_LetsWhatRunsFinish, be it ever so slow, while others are answered by the new worker.
func TestReload_LetsWhatRunsFinish(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "8"}})
	open, running := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	old := strconv.Itoa(s.Worker())
	waiting := s.Request("waiting", harness.Input{})
	edit(t, s, 2)
	s.Signal(syscall.SIGHUP)
	if got := workerOf(t, harness.Receive(t, waiting.Answer)); got.generation != "2" || got.pid == old {
		t.Errorf("what waited was answered by %+v, want generation 2 and pid not %q", got, old)
	}
	assert.Equal(t, "the generation that answers a new one", workerOf(t, s.Succeed(harness.Input{})).generation, "2")
	open()
	if got := workerOf(t, harness.Receive(t, running)); got.generation != "1" || got.pid != old {
		t.Errorf("what ran was answered by %+v, want generation 1 and pid %q", got, old)
	}
}

// TestReload_OfThreadsUnderLoadLosesNothing: each prediction runs once. One that runs while its worker is replaced ends
// there.
func TestReload_OfThreadsUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--concurrency", "4", "--queue", "32"}})
	clients := startClients(s, 8, func(client, n int) any {
		return harness.Input{"token": fmt.Sprintf("client%d-%d", client, n)}
	})
	for generation := 2; generation <= 4; generation++ {
		old := strconv.Itoa(s.Worker())
		open, running := harness.BeginAtGate(t, s, harness.Input{"token": fmt.Sprint("running", generation)})
		edit(t, s, generation)
		s.Signal(syscall.SIGHUP)
		assert.Eventually(t, "the successor answers", func() bool {
			return workerOf(t, s.Succeed(harness.Input{})).generation == strconv.Itoa(generation)
		})
		clients.more(t, 20)
		open()
		if got := workerOf(t, harness.Receive(t, running)); got.generation != strconv.Itoa(generation-1) || got.pid != old {
			t.Errorf("what ran in worker %s of generation %d was answered by %+v, want the same", old, generation-1, got)
		}
		harness.WaitWorkers(t, s, 1, generation-1)
		assert.NoError(t, os.Remove(filepath.Join(s.Dir, "gate")))
	}
	for _, a := range clients.stopAll() {
		t.Errorf("got %s, want every prediction answered", a)
	}
	ran := harness.WantOnce(t, strings.Fields(harness.ReadFile(t, filepath.Join(s.Dir, "ran.txt"))))
	assert.Equal(t, "predictions that ran", len(ran), clients.answered()+3)
}

func TestReload_StopFirst(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "32", "--reload-strategy", "stop-first"}})
	clients := startClients(s, 4, plain)
	clients.more(t, 20)
	edit(t, s, 2)
	s.Signal(syscall.SIGHUP)
	harness.WaitWorkers(t, s, 1, 1)
	clients.more(t, 20)
	for _, a := range clients.stopAll() {
		t.Errorf("got %s, want every prediction answered", a)
	}
	assert.Equal(t, "generation", workerOf(t, s.Succeed(harness.Input{})).generation, "2")
}

// TestReload_ThatFailsChangesNothing, and the one after it does.
func TestReload_ThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{})
	edit(t, s, 2)
	broken := filepath.Join(s.Dir, "broken.txt")
	harness.WriteFile(t, broken, "")
	s.Signal(syscall.SIGHUP)
	assert.Eventually(t, "the successor has failed", func() bool {
		_, found := s.Log.First(func(l harness.Line) bool {
			return strings.Contains(l.Text, "the worker's successor failed")
		})
		return found
	})
	assert.Equal(t, "generation", workerOf(t, s.Succeed(harness.Input{})).generation, "1")
	assert.NoError(t, os.Remove(broken))
	harness.WaitWorkers(t, s, 1, 1)
	assert.Equal(t, "generation", workerOf(t, s.Succeed(harness.Input{})).generation, "2")
}

// TestReload_ModelThatWasRepairedIsServed: SETUP_FAILED is not for ever.
func TestReload_ModelThatWasRepairedIsServed(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	broken := filepath.Join(dir, "broken.txt")
	harness.WriteFile(t, broken, "")
	s := harness.Start(t, harness.Options{Model: "fleet.py", Dir: dir})
	h := s.WaitHealth("SETUP_FAILED")
	assert.Contains(t, "setup's logs", h.Setup.Logs, "it cannot be set up today")
	harness.WantCode(t, "meanwhile", s.Input(harness.Input{}), http.StatusServiceUnavailable)
	assert.NoError(t, os.Remove(broken))
	s.Signal(syscall.SIGHUP)
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}

// TestReload_SetupThatFailsSometimes is tried again where another worker's went well, or a retry was asked for.
func TestReload_SetupThatFailsSometimes(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--workers", "3"}, Env: []string{"FAIL_BIRTHS=2"}})
	harness.WaitWorkers(t, s, 3, 1)
	s = fleet(t, harness.Options{Args: []string{"--setup-retries", "2"}, Env: []string{"FAIL_BIRTHS=1"}})
	harness.WaitWorkers(t, s, 1, 1)
}

func TestReload_ByRequest(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--reload"}})
	edit(t, s, 2)
	harness.WantCode(t, "reload", s.Do(http.MethodPost, "/reload", nil), http.StatusAccepted)
	harness.WaitWorkers(t, s, 1, 1)
	assert.Equal(t, "generation", workerOf(t, s.Succeed(harness.Input{})).generation, "2")
	harness.WantCode(t, "from elsewhere", s.Do(http.MethodPost, "/reload", nil, "X-Forwarded-For", "192.0.2.1"),
		http.StatusForbidden)
	off := fleet(t, harness.Options{})
	harness.WantCode(t, "where it is off", off.Do(http.MethodPost, "/reload", nil), http.StatusNotFound)
}
