package workers

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// stuckAsync takes four at once on one loop, which it can keep from taking more.
const stuckAsync = `
import asyncio
import os

from cog import BaseRunner, concurrent


class Runner(BaseRunner):
    @concurrent(max=4)
    async def run(self, do: str = "") -> str:
        if do == "block":
            print("blocking")
            open("gate").read()  # no process opens it for writing
        if do == "deafen":
            loop = asyncio.get_running_loop()
            for fd in range(3, 256):
                loop.remove_reader(fd)
        return str(os.getpid())
`

// overwriting writes over the page that it shares with the server: over the claim words once, or over the word that
// says what runs for as long as the process lives.
const overwriting = `
import ctypes
import os
import threading
import time

HEADER, CLAIMS, WORDS = 4096, 128, 64


def page() -> int:
    for line in open("/proc/self/maps"):
        if "pinion-page" in line:
            return int(line.split("-")[0], 16)
    raise RuntimeError("there is no shared page")


def run(do: str = "") -> str:
    if do == "claims":
        print("waiting")
        open("gate").read()
        ctypes.memset(page() + HEADER + CLAIMS, 0, 8 * WORDS)
    if do == "running":
        word = ctypes.c_uint64.from_address(page() + HEADER)

        def overwrite() -> None:
            while True:
                word.value = 0xDEADBEEF
                time.sleep(0.001)

        threading.Thread(target=overwrite, daemon=True).start()
        time.sleep(3600)
    return str(os.getpid())
`

// stuckCause is what the server says of a worker whose loop is stuck.
const stuckCause = "a free slot of it has not taken a prediction for 1s"

// TestStuck_BlockedLoopIsReplaced: what the worker has begun fails with the cause, what waits for its loop goes to the
// next.
func TestStuck_BlockedLoopIsReplaced(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Dir: harness.NewFolder(t, "run.py", stuckAsync), Model: "run.py:Runner",
			Args: []string{"--hang-timeout", "1s", "--queue", "4"},
		})
		harness.MakeFIFO(t, s.Dir, "gate")
		first := s.Succeed(harness.Input{}).Text(t)
		blocking := s.Begin("blocking", harness.Input{"do": "block"})
		s.WaitLog("blocking")
		second := s.Succeed(harness.Input{}).Text(t)
		assert.True(t, second != first, "the blocked worker answers: got %.300q, want anything but %q", second, first)
		a := harness.Receive(t, blocking)
		harness.WantStatus(t, "the one that blocks", a, "failed")
		assert.Contains(t, "error", a.Error, "killed by the server while running this prediction", stuckCause)
		assert.Equal(t, "workers hung", harness.Scrape(t, s).Value("pinion_worker_exits_total", "cause", "hang"), 1)
	})
}

// TestStuck_LoopWithoutReadersIsReplaced: the model took our sockets off its loop.
func TestStuck_LoopWithoutReadersIsReplaced(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", stuckAsync), Model: "run.py:Runner",
		Args: []string{"--hang-timeout", "1s", "--queue", "4"},
	})
	first := s.Succeed(harness.Input{"do": "deafen"}).Text(t)
	second := s.Succeed(harness.Input{}).Text(t)
	assert.True(t, second != first, "the deaf worker answers: got %.300q, want anything but %q", second, first)
	assert.Contains(t, "last exit", s.WaitHealth("READY").Workers[0].LastExit, stuckCause)
}

// TestStuck_TimeLimitsHoldAtStoppedWorker: a free slot does not keep a call beyond its time, nor a client that cancels.
func TestStuck_TimeLimitsHoldAtStoppedWorker(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "4", "--queue-timeout", "1s"}})
	harness.SendSignal(t, s.Worker(), syscall.SIGSTOP)
	harness.WantCode(t, "one of the queue's time", s.Input(harness.Input{}), http.StatusRequestTimeout)
	harness.WantCode(t, "one with its own time limit",
		s.Create(map[string]any{"input": harness.Input{}}, "Pinion-Deadline", "1"), http.StatusRequestTimeout)
	unlimited := fleet(t, harness.Options{Args: []string{"--queue", "4", "--queue-timeout", "0"}})
	harness.SendSignal(t, unlimited.Worker(), syscall.SIGSTOP)
	request := unlimited.Request("handed over", harness.Input{})
	unlimited.Cancel("handed over")
	harness.WantStatus(t, "canceled", harness.Receive(t, request.Answer), "canceled")
	for _, server := range []*harness.Server{s, unlimited} {
		harness.SendSignal(t, server.Worker(), syscall.SIGCONT)
	}
}

// TestStuck_OverwrittenPage: a prediction whose claim the model has overwritten is neither taken by the worker nor to
// be taken back; it fails, and its worker is replaced.
func TestStuck_OverwrittenPage(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", overwriting), Args: []string{"--hang-timeout", "1s", "--queue", "4"},
	})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	first := s.Begin("first", harness.Input{"do": "claims"})
	s.WaitLog("waiting")
	second := s.Request("second", harness.Input{})
	open()
	harness.WantStatus(t, "the one that overwrites", harness.Receive(t, first), "succeeded")
	a := harness.Receive(t, second.Answer)
	assert.Contains(t, "error", a.Error, stuckCause)
	s.Succeed(harness.Input{})
}

// TestStuck_PredictTimeoutWithOverwrittenPage: the limit holds though nothing says what runs.
func TestStuck_PredictTimeoutWithOverwrittenPage(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", overwriting), Args: []string{"--predict-timeout", "1s", "--cancel-grace", "1s"},
	})
	a := s.Fail(harness.Input{"do": "running"})
	assert.Contains(t, "error", a.Error, "Prediction timed out: it ran for longer than 1s")
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}

// TestStuck_SlowModelIsNotStuck: what waits behind a slow prediction has not been handed to a free slot.
func TestStuck_SlowModelIsNotStuck(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", frozenModel), Args: []string{"--hang-timeout", "1s", "--queue", "4"},
	})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	slow := s.Begin("slow", harness.Input{"wait": true})
	s.WaitLog("waiting")
	next := s.Request("next", harness.Input{})
	time.Sleep(3 * time.Second) // longer than a free slot may leave a prediction; nothing is to happen meanwhile
	open()
	first, second := harness.Receive(t, slow), harness.Receive(t, next.Answer)
	assert.True(t, first.Status == "succeeded" && second.Status == "succeeded" && first.Text(t) == second.Text(t),
		"got %s and %s, want two successes of one worker", first, second)
}

// stuckBatches prepares each item in a thread, and may block its loop after a batch.
const stuckBatches = `
import asyncio
import os
import time

import cog
from cog import BaseRunner


class Runner(BaseRunner):
    def preprocess(self, do: str = "") -> str:
        return do

    @cog.batch(max_size=4)
    async def run(self, items: list) -> list:
        if "block" in items:
            asyncio.get_running_loop().call_later(0.1, time.sleep, 3600)
        return items

    def postprocess(self, output: str) -> str:
        return str(os.getpid())
`

// TestStuck_LoopThatReadsNoItemsIsReplaced: what is to be prepared has not been claimed by anybody, and is not lost all
// the same.
func TestStuck_LoopThatReadsNoItemsIsReplaced(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", stuckBatches), Model: "run.py:Runner",
		Args: []string{"--hang-timeout", "1s", "--queue", "4"},
	})
	first := s.Succeed(harness.Input{"do": "block"}).Text(t)
	assert.Eventually(t, "another worker answers", func() bool {
		a := s.Input(harness.Input{})
		return a.Status == "succeeded" && a.Text(t) != first
	})
	assert.Contains(t, "last exit", s.WaitHealth("READY").Workers[0].LastExit, stuckCause)
}
