"""Async code that blocks the event loop."""

from __future__ import annotations

import sys

from front import CANCELED, SUCCEEDED, TRAIN, Worker, eventually, main

MODEL = """
    import asyncio, time

    def train() -> str:
        time.sleep(1.5)
        return "trained"

    def deep():
        time.sleep(600)

    async def run(block: bool) -> str:
        if block:
            deep()
        await asyncio.sleep(1.5)
        return "slept"
"""


def test_blocking_call():
    with Worker(MODEL) as worker:
        id = worker.submit({"block": True})
        eventually(lambda: "in deep\n" in worker.drain()[1])
        worker.cancel(id)
        *_, last = worker.frames(id)
        assert last.kind == CANCELED
        text = worker.drain()[1]
        assert text.startswith("Warning: async code has blocked the event loop for 1 s."), text
        assert "time.sleep(600)" in text
        assert "_worker" not in text
        # Once.
        assert worker.run({"block": False})[-1].kind == SUCCEEDED
        assert worker.drain()[1] == text


def test_code_that_does_not_block():
    with Worker(MODEL, train="predict.py:train") as worker:
        assert worker.run({"block": False})[-1].kind == SUCCEEDED
        assert worker.run({}, flags=TRAIN)[-1].kind == SUCCEEDED  # it is not async: it has no choice
        assert worker.drain() == ("", "")


if __name__ == "__main__":
    main(sys.modules[__name__])
