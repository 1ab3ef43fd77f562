"""Starting a task at once, without a turn of the event loop."""

from __future__ import annotations

import asyncio
import sys
import types
from collections import deque

import pytest

from cog._worker.serve import eager


@pytest.fixture
def loop():
    """Return a loop of CPython's own."""
    loop = asyncio.SelectorEventLoop()
    yield loop
    loop.close()


def starts():
    """Return the functions that can start a task at once on this Python."""
    return [eager._start_by_hand] + ([eager._start] if sys.version_info >= (3, 12) else [])


def within(loop, call):
    """Run a call in a callback of the loop, as predictions are started; return what it returns."""
    results = []

    def callback():
        try:
            results.append(call())
        finally:
            loop.stop()

    loop.call_soon(callback)
    loop.run_forever()
    return results.pop()


def test_a_task_starts_at_once(loop):
    """The first step has run when the call returns, before other callbacks."""
    for start in starts():
        seen, order = [], []

        async def one(seen=seen, order=order):
            seen.append(asyncio.current_task())
            order.append("task")
            await asyncio.sleep(0)
            seen.append(asyncio.current_task())

        def call(start=start, one=one, order=order):
            loop.call_soon(order.append, "other")
            return start(one(), loop)

        task = within(loop, call)
        assert order == ["task"]
        assert seen[0] is task
        loop.run_until_complete(asyncio.wait({seen[0]}))
        assert seen[1] is seen[0]
        assert order == ["task", "other"]


def test_a_task_that_ends_at_once_leaves_nothing(loop):
    """No step of it is left on the loop."""
    for start in starts():
        ran = []

        async def one(ran=ran):
            ran.append(1)

        assert within(loop, lambda start=start, one=one: start(one(), loop)).done()
        assert ran == [1]
        assert not loop._ready


class Interleaved(deque):
    """Callbacks of a loop, to which a thread adds one right behind the first."""

    other = None

    def append(self, item):
        """Append the other callback too."""
        super().append(item)
        if self.other is not None:
            super().append(self.other)
            self.other = None


def test_a_callback_of_a_thread_in_between_still_runs(loop):
    """The task then waits for its turn."""
    order = []
    other = loop.call_soon(order.append, "other")
    loop._ready.clear()
    loop._ready = Interleaved()
    loop._ready.other = other

    async def one():
        order.append("task")

    task = eager._start_by_hand(one(), loop)
    assert order == []
    loop.run_until_complete(task)
    assert sorted(order) == ["other", "task"]


def test_a_loop_of_another_kind_is_left_alone():
    """Only CPython's own loop has the callbacks in a known attribute."""
    loop = asyncio.SelectorEventLoop()
    assert eager.eager_start(loop) is not None
    loop.close()
    other = types.SimpleNamespace(_ready=[])
    assert eager.eager_start(other) is (eager._start if sys.version_info >= (3, 12) else None)
