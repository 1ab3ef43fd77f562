package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const forkedModel = `import atexit
import os
import random
import tempfile
import time
import weakref
from typing import Any

import numpy as np
from cog import BaseRunner


def note(name: str) -> None:
    with open(name, "a") as file:
        file.write(f"{os.getpid()}\n")


class Kept:
    def __del__(self) -> None:
        note("destroyed.txt")


class Runner(BaseRunner):
    def setup(self) -> None:
        print("setting up")
        note("set-up.txt")
        self.table = np.ones(1000)
        self.folder = tempfile.TemporaryDirectory()
        self.kept = Kept()
        weakref.finalize(self, note, "finalized.txt")
        atexit.register(note, "left.txt")
        self.drawn = [random.random(), np.random.rand()]
        if os.environ.get("IN_SETUP") == "raise":
            raise RuntimeError("no weights today")
        if os.environ.get("IN_SETUP") == "fork" and os.fork() == 0:
            raise SystemExit(0)

    def after_fork(self) -> None:
        print("forked")
        note("forked.txt")
        self.mine = tempfile.TemporaryDirectory()
        atexit.register(note, "worker-left.txt")

    def run(self, what: str = "state") -> Any:
        if what == "numbers":
            return [*self.drawn, random.random(), np.random.rand()]
        if what == "sleep":
            print("sleeping in", os.getpid())
            time.sleep(1000)
        if what == "exit":
            os._exit(4)
        return {"pid": os.getpid(), "folder": os.path.isdir(self.folder.name), "sum": self.table.sum(),
                "name": self.folder.name, "mine": self.mine.name}


class Async(Runner):
    async def setup(self) -> None:
        import asyncio

        await asyncio.to_thread(time.sleep, 0)
        Runner.setup(self)

    async def after_fork(self) -> None:
        import asyncio

        await asyncio.sleep(0)
        Runner.after_fork(self)

    async def run(self, what: str = "state") -> Any:
        if what == "sleep":
            import asyncio

            print("sleeping in", os.getpid())
            await asyncio.sleep(1000)
        return Runner.run(self, what)
`

// forkedState is what forkedModel answers.
type forkedState struct {
	PID        int
	Folder     bool
	Sum        float64
	Name, Mine string
}

// forkedSetup serves a model whose workers are forked after its setup.
func forkedSetup(t testing.TB, o harness.Options) *harness.Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = harness.NewFolder(t, "run.py", forkedModel)
	}
	if o.Model == "" {
		o.Model = "run.py:Runner"
	}
	o.Args = append(o.Args, "--preload=setup", "--queue", "8")
	return harness.Ready(t, o)
}

// wantLog fails unless a line of the server's log has these texts.
func wantLog(t testing.TB, s *harness.Server, texts ...string) {
	t.Helper()
	line, _ := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Text, texts[0]) })
	assert.Contains(t, "the server's log", line.Raw, texts...)
}

func state(t testing.TB, s *harness.Server) (state forkedState) {
	t.Helper()
	s.Succeed(harness.Input{}).Decode(t, &state)
	return state
}

// TestForkedSetup_RunsOnce: each worker has what it made, and what after_fork makes of its own.
func TestForkedSetup_RunsOnce(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, model := range []string{"run.py:Runner", "run.py:Async"} {
			s := forkedSetup(t, harness.Options{Python: python.Path, Model: model, Args: []string{"--workers", "2"}})
			harness.WaitWorkers(t, s, 2, 0)
			folders := map[string]bool{}
			for i := range 5 {
				worker := s.Worker()
				got := state(t, s)
				assert.True(t, got.Folder && got.Sum == 1000, "got %+v, want the folder and the table of the setup", got)
				folders[got.Name] = true
				harness.SendSignal(t, worker, syscall.SIGKILL)
				harness.WaitWorkers(t, s, 2, i+1)
			}
			process := preloadProcess(t, s)
			assert.True(t, process.State == "ready" && process.Setup && process.Forked == 7, "health says %+v, want 7 forks of a setup",
				process)
			assert.Equal(t, "folders of the setup", len(folders), 1)
			setUp := harness.ModelLines(t, s, "set-up.txt")
			assert.Equal(t, "processes that ran the setup", fmt.Sprint(setUp), fmt.Sprint([]int{process.PID}))
			assert.Equal(t, "workers that ran after_fork", len(harness.ModelLines(t, s, "forked.txt")), 7)
			assert.Eventually(t, "the setup's logs", func() bool { return s.Health().Setup.Logs == "setting up\nforked\n" })
			wantLog(t, s, "setup took ", "workers are forked from it in")
			mine := state(t, s).Mine
			s.Stop()
			// What the setup registered for the end runs once, and what a worker did, in that worker.
			for file, want := range map[string]string{"left.txt": setUp[0], "finalized.txt": setUp[0], "destroyed.txt": setUp[0]} {
				assert.Equal(t, file, fmt.Sprint(harness.ModelLines(t, s, file)), "["+want+"]")
			}
			assert.Equal(t, "workers whose atexit ran", len(harness.ModelLines(t, s, "worker-left.txt")), 2)
			for name := range folders {
				_, err := os.Stat(name)
				assert.True(t, os.IsNotExist(err), "the setup's folder is left: %v", err)
			}
			_, err := os.Stat(mine)
			assert.True(t, os.IsNotExist(err), "the worker's folder is left: %v", err)
		}
	})
}

func TestForkedSetup_WorkersDrawTheirOwnNumbers(t *testing.T) {
	t.Parallel()
	s := forkedSetup(t, harness.Options{})
	var first, second [4]float64
	s.Succeed(harness.Input{"what": "numbers"}).Decode(t, &first)
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
	harness.WaitWorkers(t, s, 1, 1)
	s.Succeed(harness.Input{"what": "numbers"}).Decode(t, &second)
	assert.True(t, first[0] == second[0] && first[1] == second[1] && first[2] != second[2] && first[3] != second[3],
		"one worker drew %v, the next %v, want the same from the setup and others in the workers", first, second)
}

// TestForkedSetup_AfterForkRunsInEachWorker, also where nothing is forked.
func TestForkedSetup_AfterForkRunsInEachWorker(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--preload"}} {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", forkedModel), Model: "run.py:Runner", Args: args,
		})
		assert.True(t, state(t, s).Mine != "", "got no folder of after_fork")
		assert.Equal(t, "what set up and what ran after_fork", fmt.Sprint(harness.ModelLines(t, s, "set-up.txt")),
			fmt.Sprint(harness.ModelLines(t, s, "forked.txt")))
	}
}

// TestForkedSetup_ThatFailsIsReportedAsEver: by a worker that runs it, in its setup's logs. The first try's folder is gone.
func TestForkedSetup_ThatFailsIsReportedAsEver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", forkedModel), Model: "run.py:Runner", Args: []string{"--preload=setup"},
		Env: []string{"IN_SETUP=raise"},
	})
	h := s.WaitHealth("SETUP_FAILED")
	assert.Contains(t, "the setup's logs", h.Setup.Logs, "Traceback", "RuntimeError: no weights today")
	wantLog(t, s, "no worker can be forked after the setup", "its setup raises RuntimeError: no weights today", `"setup_seconds":`)
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 2)
}

// TestForkedSetup_ThatForks: its child ends, and serves nothing.
func TestForkedSetup_ThatForks(t *testing.T) {
	t.Parallel()
	s := forkedSetup(t, harness.Options{Env: []string{"IN_SETUP=fork"}})
	assert.Equal(t, "the worker", state(t, s).PID, s.Worker())
	assert.True(t, preloadProcess(t, s).Setup, "got no fork after the setup")
}

// TestForkedSetup_WorkerIsWorker: it is canceled, killed and replaced as any.
func TestForkedSetup_WorkerIsWorker(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"run.py:Runner", "run.py:Async"} {
		s := forkedSetup(t, harness.Options{Model: model})
		worker := s.Worker()
		sleeping := s.Begin("sleeping", harness.Input{"what": "sleep"})
		s.WaitLog(fmt.Sprint("sleeping in ", worker))
		s.Cancel("sleeping")
		harness.WantStatus(t, "a canceled one", harness.Receive(t, sleeping), "canceled")
		harness.SameWorker(t, s, worker)
		assert.Contains(t, "error", s.Fail(harness.Input{"what": "exit"}).Error, "worker exited with code 4")
		assert.True(t, state(t, s).Folder, "the setup's folder is gone")
		assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
	}
}

// TestForkedSetup_Reload: workers of the old code keep the files of its setup until they have left.
func TestForkedSetup_Reload(t *testing.T) {
	t.Parallel()
	s := forkedSetup(t, harness.Options{Args: []string{"--workers", "2"}})
	harness.WaitWorkers(t, s, 2, 0)
	old := state(t, s)
	editFile(t, filepath.Join(s.Dir, "run.py"), "np.ones(1000)", "np.ones(20000)")
	s.Signal(syscall.SIGHUP)
	harness.WaitWorkers(t, s, 2, 2)
	for range 4 {
		got := state(t, s)
		assert.True(t, got.Sum == 20000 && got.Folder && got.Name != old.Name, "got %+v, want the new code", got)
	}
	assert.Eventually(t, "the old setup's folder is removed", func() bool {
		_, err := os.Stat(old.Name)
		return os.IsNotExist(err)
	})
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 2)
}

// TestForkedSetup_ByVariable: the setting's other ways are tested with the command line.
func TestForkedSetup_ByVariable(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", forkedModel), Model: "run.py:Runner", Env: []string{"PINION_PRELOAD=setup"},
	})
	assert.True(t, preloadProcess(t, s).Setup, "got no fork after the setup")
}
