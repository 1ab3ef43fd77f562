"""A worker that keeps its core busy between requests that come one by one, as long as the front lets it."""

from __future__ import annotations

import struct
import sys

from batch_front import BatchWorker
from front import CANCELED, SUCCEEDED, eventually, main

MODEL = """
    def run(n: int) -> int:
        return n
"""
BATCHED = """
    import cog
    @cog.batch(max_size=4)
    def run(n: list[int]) -> list[int]:
        return n
"""
ASYNC = """
    async def run(n: int) -> int:
        return n
"""
SPIN = 192  # the word's place in the page
AFTER = 16  # prompt requests
REST = 3  # more of them, after one that was not quite
SECOND = 1_000_000_000


class Spinner(BatchWorker):
    def allow(self, ns):
        struct.pack_into("<Q", self.page, SPIN, ns)

    def _of_main(self, name):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/{name}") as file:
            return file.read()

    def sleeps(self):
        """How often the main thread has gone to sleep."""
        (line,) = (line for line in self._of_main("status").splitlines() if line.startswith("voluntary"))
        return int(line.split()[1])

    def asleep(self):
        return self._of_main("stat").rpartition(") ")[2].startswith("S")

    def serve(self, n):
        """Have it answer so many requests, each when the last was answered."""
        for i in range(n):
            (end,) = self.run({"n": i}, flags=0)
            assert end.kind == SUCCEEDED and end.value["output"] == i, end

    def serve_batches(self, n):
        """Have it carry out so many batches of two, each when the last was over."""
        for i in range(n):
            outputs = self.run_batch([{"n": i}, {"n": i + 1}]).outputs
            assert outputs == [i, i + 1], outputs

    def sleeps_for(self, n):
        """Return how often it went to sleep for so many requests, each of which finds it asleep."""
        eventually(self.asleep)
        before = self.sleeps()
        for _ in range(n):
            self.serve(1)
            eventually(self.asleep)
        return self.sleeps() - before


def test_without_leave_it_sleeps():
    for model in MODEL, ASYNC:
        with Spinner(model) as worker:
            worker.serve(3 * AFTER)
            assert worker.sleeps_for(50) >= 50, model


def test_with_leave_it_does_not():
    for model in MODEL, ASYNC:
        with Spinner(model) as worker:
            worker.allow(1000 * SECOND)
            worker.serve(3 * AFTER)
            before = worker.sleeps()
            worker.serve(100)
            assert worker.sleeps() - before < 50, model  # a lock may make it wait
            worker.allow(0)
            worker.serve(1)
            assert worker.sleeps_for(50) >= 50, model


def test_a_loop_with_predictions_in_progress_sleeps():
    model = """
        import asyncio, cog
        class Runner(cog.BaseRunner):
            @cog.concurrent(max=2)
            async def run(self, n: int) -> int:
                if n < 0:
                    await asyncio.Event().wait()
                return n
    """
    with Spinner(model, slots=2) as worker:
        worker.allow(1000 * SECOND)
        stuck = worker.submit({"n": -1}, 1, 0)
        eventually(lambda: worker.is_running(stuck, 1))
        worker.serve(3 * AFTER)
        assert worker.sleeps_for(50) >= 50
        worker.cancel(stuck, 1)
        (end,) = worker.frames(stuck, 1)
        assert end.kind == CANCELED, end


def test_a_batch_with_its_items_is_one():
    with Spinner(BATCHED) as worker:
        worker.allow(1000 * SECOND)
        worker.serve_batches(3 * AFTER)
        before = worker.sleeps()
        worker.serve_batches(100)
        assert worker.sleeps() - before < 50


def test_it_gives_up():
    with Spinner(MODEL) as worker:
        worker.allow(SECOND)
        worker.serve(3 * AFTER)
        eventually(worker.asleep)
        assert worker.sleeps_for(REST) >= REST


if __name__ == "__main__":
    main(sys.modules[__name__])
