package tests

import (
	"testing"

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
	dir := folder(t, "run.py", sentry)
	for _, c := range []struct {
		model string
		args  []string
		in    input
		want  string
	}{
		{"Async", nil, input{}, "own thread, pool"},
		{"Async", []string{"--concurrency", "2"}, input{}, "own thread, pool"},
		{"Sync", nil, input{}, "own thread, pool"},
		{"Batch", nil, input{"text": "a"}, "a, own thread, pool"},
		{"AsyncBatch", nil, input{"text": "a"}, "a, own thread, pool"},
	} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + c.model, Python: python, Args: append(c.args, "--predict-timeout", "20s")})
		same(t, c.model, s.Succeed(c.in).Text(t), c.want)
	}
}
