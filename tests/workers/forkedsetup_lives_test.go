package workers

import (
	"fmt"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const sharedModel = `import os
import threading
import numpy as np
from cog import BaseRunner, batch, concurrent

kept = []


def note(name: str) -> None:
    with open(name, "a") as file:
        file.write(f"{os.getpid()}\n")


class Runner(BaseRunner):
    def setup(self) -> None:
        note("set-up.txt")
        self.weights = np.ones(16 << 20)

    def after_fork(self) -> None:
        note("forked.txt")
        if os.path.exists("die") and len(open("forked.txt").readlines()) % 2:
            os._exit(3)

    def run(self, grow: int = 0) -> float:
        kept.append(np.ones(grow << 17))
        return float(self.weights[:10].sum())


class Threads(Runner):
    @concurrent(max=4)
    def run(self, grow: int = 0) -> float:
        return float(self.weights[:10].sum())


class Batch(Runner):
    @batch(max_size=4)
    def run(self, grow: list[int]) -> list[float]:
        return [float(self.weights[:10].sum())] * len(grow)


class Stages(Runner):
    def preprocess(self, grow: int) -> int:
        return grow

    @batch(max_size=4)
    def run(self, items: list[int]) -> list[float]:
        return [float(self.weights[:10].sum())] * len(items)


class AsyncBatch(Runner):
    @batch(max_size=4)
    async def run(self, grow: list[int]) -> list[float]:
        return [float(self.weights[:10].sum())] * len(grow)


class Methods(Runner):
    @batch(max_size=4)
    def total(self, items: list[int]) -> list[float]:
        return [float(self.weights[:10].sum())] * len(items)

    @concurrent(max=4)
    def run(self, grow: int = 0) -> float:
        return self.total(grow)
`

func sharedSetup(t testing.TB, model string, args ...string) *harness.Server {
	t.Helper()
	return forkedSetup(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", sharedModel), Model: "run.py:" + model, Args: args,
	})
}

func sum(t testing.TB, s *harness.Server, grow int) {
	t.Helper()
	harness.EqualJSON(t, "the sum", s.Succeed(harness.Input{"grow": grow}).Output, "10.0")
}

// TestForkedSetup_EachKindOfServer: threads, batches and batched methods are set up once, and work in each fork.
func TestForkedSetup_EachKindOfServer(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"Threads", "Batch", "Stages", "AsyncBatch", "Methods"} {
		s := sharedSetup(t, model)
		for i := range 3 {
			calls := []<-chan harness.Answer{}
			for call := range 4 {
				calls = append(calls, s.Begin(fmt.Sprintf("%s-%d-%d", model, i, call), harness.Input{"grow": 0}))
			}
			for _, call := range calls {
				harness.EqualJSON(t, model, harness.Receive(t, call).Output, "10.0")
			}
			harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
			harness.WaitWorkers(t, s, 1, i+1)
		}
		assert.Equal(t, model+": setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
		assert.Equal(t, model+": forks", preloadProcess(t, s).Forked, 4)
		s.Stop()
	}
}

// TestForkedSetup_WorkerDiesOften: 100 times it is back, from the same setup.
func TestForkedSetup_WorkerDiesOften(t *testing.T) {
	t.Parallel()
	s := sharedSetup(t, "Runner")
	for i := range 100 {
		sum(t, s, 0)
		harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
		harness.WaitWorkers(t, s, 1, i+1)
	}
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
	assert.Equal(t, "forks", preloadProcess(t, s).Forked, 101)
}

// TestForkedSetup_WorkersShareTheWeights: health shows what a worker has alone, and a worker that leaks is replaced for that.
func TestForkedSetup_WorkersShareTheWeights(t *testing.T) {
	t.Parallel()
	const weights = 128 << 20
	s := sharedSetup(t, "Runner", "--max-rss", "100MiB")
	sum(t, s, 0)
	worker := s.Health().Workers[0]
	assert.True(t, worker.MemoryBytes > 0 && worker.MemoryBytes < weights/2, "the worker has %d bytes to itself, want less than half of the weights",
		worker.MemoryBytes)
	sum(t, s, 150) // MiB, which it keeps
	h := harness.WaitWorkers(t, s, 1, 1)
	assert.True(t, h.Workers[0].PID != worker.PID && h.Workers[0].MemoryBytes < weights/2, "got %+v, want another worker without the leak",
		h.Workers[0])
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
	wantLog(t, s, "worker is being renewed", "of memory, more than 100 MiB")
}

// TestForkedSetup_AfterForkThatEndsTheWorker is a setup that failed, which the server tries again as it is told to.
func TestForkedSetup_AfterForkThatEndsTheWorker(t *testing.T) {
	t.Parallel()
	s := sharedSetup(t, "Runner")
	sum(t, s, 0)
	harness.WriteFile(t, s.Dir+"/die", "")
	for i := range 5 {
		harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
		assert.Eventually(t, fmt.Sprintf("worker %d is back", i), func() bool {
			h := s.Health()
			return h.Status == "READY" && h.Workers[0].Restarts > i
		})
		sum(t, s, 0)
	}
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
}

// TestForkedSetup_IdleModel keeps its preload process, and is back without a setup.
func TestForkedSetup_IdleModel(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", sharedModel), Model: "run.py:Runner",
		Args: []string{"--preload=setup", "--idle-timeout", "200ms", "--load", "on-demand"},
	})
	for range 4 {
		sum(t, s, 0)
		s.WaitHealth("UNLOADED")
	}
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
	assert.Equal(t, "workers", len(harness.ModelLines(t, s, "forked.txt")), 4)
	old := preloadProcess(t, s).PID
	s.Signal(syscall.SIGHUP)
	assert.Eventually(t, "a reload ends the kept process", func() bool { return !harness.Alive(old) })
	sum(t, s, 0)
	assert.Equal(t, "setups after the reload", len(harness.ModelLines(t, s, "set-up.txt")), 2)
	s.WaitHealth("UNLOADED")
	old = preloadProcess(t, s).PID
	s.Stop()
	assert.False(t, harness.Alive(old), "the preload process is left")
}
