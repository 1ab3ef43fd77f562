package workers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// librariesPython has the libraries of requirements-libraries.txt.
func librariesPython(t testing.TB) string {
	t.Helper()
	return harness.Tool(t, "venvs/libraries/bin/python")
}

const sentry = `import asyncio, concurrent.futures, threading
import sentry_sdk
from sentry_sdk.integrations.threading import ThreadingIntegration
from cog import BaseRunner, batch

sentry_sdk.init(dsn="http://public@127.0.0.1:9/1", integrations=[ThreadingIntegration(propagate_scope=True)], traces_sample_rate=1.0)


class Worker(threading.Thread):
    def run(self):
        self.result = "own thread"


def work():
    thread = Worker()
    thread.start()
    thread.join()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return thread.result + ", " + pool.submit(lambda: "pool").result()


class Async(BaseRunner):
    async def run(self) -> str:
        return await asyncio.to_thread(work)


class Sync(BaseRunner):
    def run(self) -> str:
        return work()


class Batch(BaseRunner):
    def preprocess(self, text: str) -> str:
        return text + ", " + work()

    @batch(max_size=2)
    def run(self, items: list[str]) -> list[str]:
        return items


class AsyncBatch(BaseRunner):
    def preprocess(self, text: str) -> str:
        return text + ", " + work()

    @batch(max_size=2)
    async def run(self, items: list[str]) -> list[str]:
        return items
`

// TestSentry_LeavesThreadsRunning: its start of a thread wraps the run method that it finds.
func TestSentry_LeavesThreadsRunning(t *testing.T) {
	t.Parallel()
	python := librariesPython(t)
	dir := harness.NewFolder(t, "run.py", sentry)
	for _, c := range []struct {
		model string
		args  []string
		in    harness.Input
		want  string
	}{
		{"Async", nil, harness.Input{}, "own thread, pool"},
		{"Async", []string{"--concurrency", "2"}, harness.Input{}, "own thread, pool"},
		{"Sync", nil, harness.Input{}, "own thread, pool"},
		{"Batch", nil, harness.Input{"text": "a"}, "a, own thread, pool"},
		{"AsyncBatch", nil, harness.Input{"text": "a"}, "a, own thread, pool"},
	} {
		s := harness.Ready(t, harness.Options{
			Dir: dir, Model: "run.py:" + c.model, Python: python, Args: append(c.args, "--predict-timeout", "20s"),
		})
		assert.Equal(t, c.model, s.Succeed(c.in).Text(t), c.want)
	}
}

const patched = `import os
if os.environ["PATCH"] == "gevent":
    import gevent.monkey
    gevent.monkey.patch_all()
else:
    import eventlet
    eventlet.monkey_patch()
import asyncio, subprocess, threading, time
from cog import BaseRunner, batch


def work(text):
    out = [text]
    thread = threading.Thread(target=lambda: (time.sleep(0.01), out.append("thread")))
    thread.start()
    thread.join()
    out.append(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
    return " ".join(out)


class Sync(BaseRunner):
    def run(self, text: str) -> str:
        return work(text)

    def healthcheck(self) -> bool:
        return True


class Async(BaseRunner):
    async def setup(self) -> None:
        await asyncio.sleep(0.01)

    async def run(self, text: str) -> str:
        await asyncio.sleep(0.01)
        return work(text)


class Batch(BaseRunner):
    def preprocess(self, text: str) -> str:
        time.sleep(0.01)
        return text

    @batch(max_size=2)
    def run(self, items: list[str]) -> list[str]:
        return [work(item) for item in items]
`

// TestPatchedThreads_Serve: gevent and eventlet remove names of the standard library, and make its threads greenlets.
func TestPatchedThreads_Serve(t *testing.T) {
	t.Parallel()
	python := librariesPython(t)
	dir := harness.NewFolder(t, "run.py", patched)
	for _, library := range []string{"gevent", "eventlet"} {
		for _, args := range [][]string{{}, {"--preload"}} {
			for _, model := range []string{"Sync", "Async", "Batch"} {
				what := library + " " + model
				s := harness.Ready(t, harness.Options{
					Dir: dir, Model: "run.py:" + model, Python: python, Env: []string{"PATCH=" + library},
					Args: append([]string{"--predict-timeout", "20s"}, args...),
				})
				for _, text := range []string{"one", "two"} {
					assert.Equal(t, what, s.Succeed(harness.Input{"text": text}).Text(t), text+" thread child")
				}
				if p := s.Health().Preload; p != nil {
					assert.Equal(t, what+": the preload process", p.State, "ready")
				}
			}
		}
	}
}

const arrow = `import ctypes, os, sys, threading
import numexpr
import pyarrow, pyarrow.compute, pyarrow.parquet
from cog import BaseRunner

pyarrow.parquet.write_table(pyarrow.table({"a": range(1000)}), "table.parquet")
table = pyarrow.parquet.read_table("table.parquet")

def parallel(library):
    """Return which threads run in a parallel region of OpenMP."""
    openmp, seen = ctypes.CDLL(library), []
    region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: seen.append(openmp.omp_get_thread_num()))
    openmp.GOMP_parallel(region, None, 3, 0)
    return sorted(seen)


INTEL = sys.prefix + "/lib/libiomp5.so"
numexpr.set_num_threads(3)
doubled = numexpr.evaluate("a * 2", {"a": range(100000)})
parallel(INTEL)
if os.environ.get("OPENMP"):
    parallel("libgomp.so.1")
if os.environ.get("WATCH"):
    threading.Thread(target=threading.Event().wait, name="watcher", daemon=True).start()


class Runner(BaseRunner):
    def run(self) -> list[int]:
        again = pyarrow.parquet.read_table("table.parquet")
        total = pyarrow.compute.sum(pyarrow.concat_tables([table, again])["a"]).as_py()
        return [total, int(numexpr.evaluate("sum(doubled)")), *parallel(INTEL)]
`

// TestPreload_ThreadsThatForkThemselves: pyarrow's allocator does without its thread in a fork. Its pools, numexpr's
// and those of Intel's OpenMP start theirs again. Threads of the model and of OpenMP still refuse, and they alone are
// named.
func TestPreload_ThreadsThatForkThemselves(t *testing.T) {
	t.Parallel()
	python := librariesPython(t)
	dir := harness.NewFolder(t, "run.py", arrow)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner", Python: python, Args: []string{"--preload"}})
	assert.Equal(t, "the preload process", preloadProcess(t, s).State, "ready")
	assert.Equal(t, "the sums and threads", string(s.Succeed(harness.Input{}).Output), "[999000,9999900000,0,1,2]")
	for env, reason := range map[string]string{
		"WATCH=1": "leaves 1 thread running (watcher)", "OPENMP=1": "leaves 2 threads running (2 of libgomp.so.1)",
	} {
		s = harness.Ready(t, harness.Options{
			Dir: dir, Model: "run.py:Runner", Python: python, Args: []string{"--preload"}, Env: []string{env},
		})
		got := preloadProcess(t, s)
		assert.Equal(t, env+": the preload process", got.State, "refused")
		assert.Contains(t, env+": the reason", got.Reason, reason)
	}
}

// TestOpenTelemetry_LogsOfItsInstrumentation: its sitecustomize begins to log before the worker does.
func TestOpenTelemetry_LogsOfItsInstrumentation(t *testing.T) {
	t.Parallel()
	python := librariesPython(t)
	dir := harness.NewFolder(t, "run.py", `import logging
from opentelemetry import trace
from cog import BaseRunner


class Runner(BaseRunner):
    def run(self) -> str:
        with trace.get_tracer("model").start_as_current_span("work"):
            logging.getLogger("model").warning("logged")
        return "done"
`)
	found := harness.RunPython(t, python, dir, nil, "-c",
		"import os, opentelemetry.instrumentation.auto_instrumentation as a; print(os.path.dirname(a.__file__), end='')")
	for _, args := range [][]string{nil, {"--preload"}} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner", Python: python, Args: args, Env: []string{
			"PYTHONPATH=" + string(found), "OTEL_PYTHON_LOG_CORRELATION=true", "OTEL_TRACES_EXPORTER=none",
			"OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none",
		}})
		assert.Contains(t, "the logs", s.Succeed(harness.Input{}).Logs, "WARNING [model] [run.py:9]", "trace_id=", "logged\n")
		if p := s.Health().Preload; p != nil {
			assert.Equal(t, "the preload process", p.State, "ready")
		}
	}
}

const loops = `import sys, time
if sys.argv and __import__("os").environ.get("PATCH") == "gevent":
    import gevent.monkey
    gevent.monkey.patch_all()
elif __import__("os").environ.get("PATCH") == "eventlet":
    import eventlet
    eventlet.monkey_patch()
import asyncio, threading
from cog import BaseRunner, CancelationException


class Runner(BaseRunner):
    def run(self, how: str = "") -> str:
        if how != "trio":
            print("begun")
        if how == "uvloop":
            import uvloop
            try:
                uvloop.run(asyncio.sleep(1000))
            except CancelationException:
                print("clean")
                raise
        elif how == "uvloop forever":
            import uvloop
            uvloop.new_event_loop().run_forever()
        elif how == "trio":
            import trio
            async def main():
                try:
                    print("begun")
                    await trio.sleep(1000)
                finally:
                    print("clean")
            trio.run(main)
        elif how == "sleeping":
            time.sleep(1000)
        elif how == "computing":
            def compute():
                while True:
                    time.sleep(0)
            thread = threading.Thread(target=compute, daemon=True)
            thread.start()
            thread.join()
        return "done"
`

// TestCancel_OfLoopsOfLibraries reaches the prediction, which waits in a loop that drops exceptions.
func TestCancel_OfLoopsOfLibraries(t *testing.T) {
	t.Parallel()
	python := librariesPython(t)
	dir := harness.NewFolder(t, "run.py", loops)
	for library, ways := range map[string][]string{
		"": {"uvloop", "uvloop forever", "trio"}, "gevent": {"sleeping", "computing"},
		"eventlet": {"sleeping", "computing"},
	} {
		s := harness.Ready(t, harness.Options{
			Dir: dir, Model: "run.py:Runner", Python: python,
			Env: []string{"PATCH=" + library}, Args: []string{"--cancel-grace", "10m"},
		})
		worker := s.Worker()
		for _, how := range ways {
			a := harness.CancelRunning(t, s, how, harness.Input{"how": how})
			assert.Equal(t, library+" "+how, a.Status, "canceled")
			if how == "trio" || how == "uvloop" {
				assert.Contains(t, "the logs of "+how, a.Logs, "begun\nclean\n")
			}
		}
		assert.Equal(t, library+", afterwards", s.Succeed(harness.Input{}).Text(t), "done")
		harness.SameWorker(t, s, worker)
	}
}

const everyDtype = `from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from cog import BaseModel, BaseRunner, batch, current_scope

OURS = [t for t in vars(ml_dtypes).values() if isinstance(t, type) and issubclass(t, np.generic)]
REAL = [t for t in OURS if np.dtype(t).kind != "W"]
NUMPY = [np.dtype(c).type for c in "?bhilqBHILQefdg"]


def ones(dtype) -> np.ndarray:
    return np.array([1, 2]).astype(dtype)


class Every(BaseRunner):
    def run(self) -> Any:
        for dtype in REAL + NUMPY:
            name = np.dtype(dtype).name
            want = ones(dtype).astype(float).tolist()
            yield {"dtype": name, "want": [want, want[0], [want], {str(want[0]): want[1]}],
                   "got": [ones(dtype), ones(dtype)[0], [ones(dtype)], {str(want[0]): ones(dtype)[1]}]}


class Keys(BaseRunner):
    def run(self) -> Any:
        return [{dtype(1): np.dtype(dtype).name} for dtype in REAL + NUMPY]


class Stream(BaseRunner):
    def run(self) -> Iterator[ml_dtypes.bfloat16]:
        yield from np.array([1.5, -2], ml_dtypes.bfloat16)


class Scalar(BaseRunner):
    def run(self) -> ml_dtypes.bfloat16:
        return ml_dtypes.bfloat16(1.5)


class Long(BaseRunner):
    def run(self) -> np.longdouble:
        return np.longdouble(1.5)


class Batched(BaseRunner):
    @batch(max_size=4)
    def run(self, n: list[int]) -> list[ml_dtypes.bfloat16]:
        return np.array(n, ml_dtypes.bfloat16)


class Refused(BaseRunner):
    def run(self, what: str) -> Any:
        values = {"nan": np.array([1, np.nan], ml_dtypes.bfloat16), "complex": ones(ml_dtypes.bcomplex32),
                  "bytes": np.zeros(2, "V3"), "scalar": ml_dtypes.bfloat16("inf")}
        return {"a": values[what]}


class Output(BaseModel):
    y: np.ndarray
    z: np.ndarray
    w: np.ndarray


class Tensors(BaseRunner):
    def run(self) -> Output:
        return Output(ones(ml_dtypes.bfloat16), ones(ml_dtypes.int4), ones(ml_dtypes.float8_e5m2))
`

// TestArrays_OfEveryDtype: numbers of each dtype of numpy and ml_dtypes, whose bfloat16, float8 and int4 are those of JAX
// and ONNX, are plain numbers, wherever in an output they stand.
func TestArrays_OfEveryDtype(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", everyDtype)
	serve := func(model string) *harness.Server {
		return harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + model, Python: librariesPython(t)})
	}
	var every []struct {
		Dtype     string
		Got, Want any
	}
	got := serve("Every").Succeed(harness.Input{}).Output
	assert.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(got), "true", "1")), &every))
	assert.True(t, len(every) > 30, "got %d dtypes, want more than 30", len(every))
	for _, e := range every {
		assert.Equal(t, e.Dtype, fmt.Sprint(e.Got), fmt.Sprint(e.Want))
	}
	var keys []map[string]string
	assert.NoError(t, json.Unmarshal(serve("Keys").Succeed(harness.Input{}).Output, &keys))
	for _, k := range keys {
		for key, dtype := range k {
			assert.True(t, key == "1" || key == "1.0" || key == "-1" || key == "true", "a key of %s: got %q, want a number", dtype, key)
		}
	}
	harness.EqualJSON(t, "a stream", serve("Stream").Succeed(harness.Input{}).Output, "[1.5, -2.0]")
	harness.EqualJSON(t, "a scalar", serve("Scalar").Succeed(harness.Input{}).Output, "1.5")
	harness.EqualJSON(t, "a long double", serve("Long").Succeed(harness.Input{}).Output, "1.5")
	harness.EqualJSON(t, "a batch", serve("Batched").Succeed(harness.Input{"n": 3}).Output, "3.0")
	s := serve("Refused")
	for what, want := range map[string]string{
		"nan": "output.a[1] is nan, which JSON cannot hold", "complex": "output.a[0] is of type complex, which JSON cannot hold",
		"bytes": "output.a is an array of |V3, which JSON cannot hold", "scalar": "output.a is inf, which JSON cannot hold",
	} {
		harness.WantFailed(t, what, s.Input(harness.Input{"what": what}), want)
	}
	a := serve("Tensors").Do(http.MethodPost, "/v2/models/"+filepath.Base(dir)+"/infer", map[string]any{
		"inputs": []any{}, "parameters": map[string]any{"binary_data_output": true},
	})
	for _, want := range []string{`"name":"y","datatype":"FP64"`, `"name":"z","datatype":"INT64"`, `"name":"w","datatype":"FP64"`} {
		harness.WantAnswer(t, "binary tensors", a, http.StatusOK, want)
	}
}

// TestSetproctitle_ShowsTitleOfModel: a model may name its process, also one that was forked. It finds the worker's
// arguments where the kernel keeps them.
func TestSetproctitle_ShowsTitleOfModel(t *testing.T) {
	t.Parallel()
	python := librariesPython(t)
	dir := harness.NewFolder(t, "run.py", `import setproctitle
from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, title: str) -> str:
        if title:
            setproctitle.setproctitle(title)
        with open("/proc/self/cmdline") as file:
            return file.read().strip("\0 ")
`)
	for _, args := range [][]string{nil, {"--preload"}} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner", Python: python, Args: args})
		harness.EqualJSON(t, "the title before", s.Succeed(harness.Input{"title": ""}).Output, `"pinion: worker"`)
		harness.EqualJSON(t, "the title", s.Succeed(harness.Input{"title": "a model"}).Output, `"a model"`)
	}
}
