package workers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// eachFrom runs a test once for every interpreter from 3.minor on.
func eachFrom(t *testing.T, minor int, test func(t *testing.T, python harness.Python)) {
	t.Helper()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		if python.Minor < minor {
			t.Skipf("Python 3.%d does not have it", python.Minor)
		}
		test(t, python)
	})
}

const interpreters = `import asyncio
from concurrent.futures import InterpreterPoolExecutor, ThreadPoolExecutor

from cog import BaseRunner, current_scope


def work() -> str:
    with InterpreterPoolExecutor(1) as pool:
        there = [pool.submit(*call).result() for call in ((abs, -1), (pow, 2, 3), (eval, "1+1"))]
        there += pool.map(abs, [-4])
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: current_scope().record_metric("here", 1)).result()
    return str(there)


class Sync(BaseRunner):
    def run(self) -> str:
        return work()


class Async(BaseRunner):
    async def run(self) -> str:
        with InterpreterPoolExecutor(1) as pool:
            assert await asyncio.get_running_loop().run_in_executor(pool, abs, -1) == 1
        return await asyncio.to_thread(work)
`

// TestInterpreterPool_RunsFunctionsElsewhere: its executor is one of threads by its class, and hands the function itself
// to another interpreter. Those of threads carry the prediction, as before.
func TestInterpreterPool_RunsFunctionsElsewhere(t *testing.T) {
	t.Parallel()
	eachFrom(t, 14, func(t *testing.T, python harness.Python) {
		for _, c := range []struct {
			model string
			args  []string
		}{
			{"Sync", nil}, {"Sync", []string{"--concurrency", "2"}}, {"Sync", []string{"--preload"}}, {"Async", nil},
		} {
			s := harness.Ready(t, harness.Options{
				Dir: harness.NewFolder(t, "run.py", interpreters), Model: "run.py:" + c.model, Python: python.Path, Args: c.args,
			})
			what := fmt.Sprint(c.model, c.args)
			a := s.Succeed(harness.Input{})
			harness.WantOutput(t, what, a, "[1, 8, 2, 4]")
			assert.Equal(t, what+": the metric of a thread", fmt.Sprint(a.Metrics["here"]), "1")
		}
	})
}

const untyped = `from typing import TYPE_CHECKING, TypedDict

from cog import BaseRunner, Path, batch

if TYPE_CHECKING:
    from nowhere import Optimiser, Tensor


class Weights(BaseRunner):
    def setup(self, weights: Tensor | None = None) -> None:
        self.got = str(weights)

    def run(self) -> str:
        return self.got


class Beside(BaseRunner):
    def setup(self, weights: Path, optimiser: Optimiser = None) -> None:
        self.got = type(weights).__name__

    def run(self) -> str:
        return self.got


class Method(BaseRunner):
    @batch(max_size=2)
    def add(self, items: list[Tensor]) -> list[Tensor]:
        return items

    def run(self) -> str:
        return self.add("added")


class Input(BaseRunner):
    def run(self, text: str, by: list[Optimiser]) -> str:
        return text


class Member(TypedDict):
    text: str
    tensor: Tensor


class Output(BaseRunner):
    def run(self) -> Member:
        return {"text": "", "tensor": 1}
`

// TestAnnotations_OfNamesForTypeCheckers: from 3.14 on Python evaluates annotations only if asked to. What does not need
// those names works; the others are refused as quoted ones are.
func TestAnnotations_OfNamesForTypeCheckers(t *testing.T) {
	t.Parallel()
	eachFrom(t, 14, func(t *testing.T, python harness.Python) {
		dir := harness.NewFolder(t, "run.py", untyped)
		options := func(model string) harness.Options {
			return harness.Options{Dir: dir, Model: "run.py:" + model, Python: python.Path, Env: []string{"COG_WEIGHTS=w"}}
		}
		for model, want := range map[string]string{"Weights": "w", "Beside": "Path", "Method": "added"} {
			harness.WantOutput(t, model, harness.Ready(t, options(model)).Succeed(harness.Input{}), want)
		}
		for model, want := range map[string]string{
			"Input":  "the annotation 'Optimiser' cannot be read: name 'Optimiser' is not defined",
			"Output": "the return type of Output.run: the annotation 'Tensor' cannot be read",
		} {
			assert.Contains(t, model, harness.Start(t, options(model)).WaitHealth("SETUP_FAILED").Setup.Logs, want)
		}
	})
}

const spins = `import time

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, s: float = 0) -> str:
        end = time.monotonic() + s
        while time.monotonic() < end:
            pass
        return "ok"
`

// TestThreads_DebuggersAttachToMain: a script of sys.remote_exec and pdb's prompt come in the main thread, which waits
// while predictions run on threads. The worker serves on.
func TestThreads_DebuggersAttachToMain(t *testing.T) {
	t.Parallel()
	eachFrom(t, 14, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", spins), Model: "run.py:Runner", Python: python.Path, Args: []string{"--concurrency", "2"},
		})
		worker, dir := fmt.Sprint(s.Worker()), t.TempDir()
		mark, script := filepath.Join(dir, "mark"), filepath.Join(dir, "script.py")
		harness.WriteFile(t, script, fmt.Sprintf("open(%q, 'w').close()\n", mark))
		running := s.Begin("spins", harness.Input{"s": 3600})
		send := fmt.Sprintf("import sys; sys.remote_exec(%s, %q)", worker, script)
		said, err := exec.Command(python.Path, "-c", send).CombinedOutput()
		assert.NoError(t, err, "sys.remote_exec", string(said))
		harness.WaitFile(t, mark)

		pdb := exec.Command(python.Path, "-m", "pdb", "-p", worker)
		pdb.Stdin = strings.NewReader("p 6 * 7\nq\n")
		out, err := pdb.CombinedOutput()
		assert.NoError(t, err, "pdb", string(out))
		assert.Contains(t, "pdb", string(out), "(Pdb) 42")
		s.Cancel("spins")
		harness.WantStatus(t, "a prediction while a debugger was attached", <-running, "canceled")
		harness.WantOutput(t, "after that", s.Succeed(harness.Input{}), "ok")
		assert.Equal(t, "the worker", fmt.Sprint(s.Worker()), worker)
	})
}

const lazy = `import sys

from cog import BaseRunner

%s


class Runner(BaseRunner):
    def setup(self) -> None:
        self.there = "heavy" in sys.modules and "below" in sys.modules

    def run(self) -> str:
        return f"{self.there} {heavy.x}"
`

// TestPreload_ImportsWhatIsLazy: the preload process imports what the model and its modules import lazily, so that no
// fork has to. What cannot be imported fails where it is used, as in plain Python.
func TestPreload_ImportsWhatIsLazy(t *testing.T) {
	t.Parallel()
	eachFrom(t, 15, func(t *testing.T, python harness.Python) {
		for line, env := range map[string][]string{
			"import heavy":                                  {"PYTHON_LAZY_IMPORTS=all"},
			"lazy import heavy, nowhere":                    nil,
			"lazy from nowhere import x\nlazy import heavy": nil,
		} {
			s := harness.Ready(t, harness.Options{
				Dir:   harness.NewFolder(t, "run.py", fmt.Sprintf(lazy, line), "heavy.py", "lazy from below import y\nx = 1\n", "below.py", "y = 1\n"),
				Model: "run.py:Runner", Python: python.Path, Args: []string{"--preload"}, Env: env,
			})
			wantPreload(t, s, line, "")
			harness.WantOutput(t, line, s.Succeed(harness.Input{}), "True 1")
		}
	})
}

const frozenDicts = `from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cog import BaseRunner, Input, current_scope


class Runner(BaseRunner):
    def run(self, options: dict[str, int] = Input(default=frozendict(a=1))) -> frozendict[str, Any]:
        current_scope().record_metric("frozen", frozendict(n=frozendict(m=[frozendict()])))
        current_scope().record_metric("frozen", {"n": 1})
        return frozendict(options=options, kind=type(options).__name__, deep=[frozendict(a=(1, frozendict()))])


class View(BaseRunner):
    def run(self) -> MappingProxyType[str, int]:
        return MappingProxyType({"a": 1})
`

// TestFrozendict_IsADict of Python 3.15: as a default, an output, its annotation, and a metric.
func TestFrozendict_IsADict(t *testing.T) {
	t.Parallel()
	eachFrom(t, 15, func(t *testing.T, python harness.Python) {
		dir := harness.NewFolder(t, "run.py", frozenDicts)
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner", Python: python.Path})
		a := s.Succeed(harness.Input{})
		harness.EqualJSON(t, "the output", a.Output, `{"options": {"a": 1}, "kind": "dict", "deep": [{"a": [1, {}]}]}`)
		assert.Equal(t, "the metric", fmt.Sprint(a.Metrics["frozen"]), "map[n:1]")
		s = harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:View", Python: python.Path})
		harness.EqualJSON(t, "a view", s.Succeed(harness.Input{}).Output, `{"a": 1}`)
	})
}
