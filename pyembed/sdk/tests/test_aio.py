"""How the event loop begins a prediction: at once, unless somebody comes in between."""

from __future__ import annotations

import asyncio
import importlib
import selectors
import sys
import types
from collections import deque

import pytest


@pytest.fixture
def aio(monkeypatch):
    """Return the module, with a worker's C half that does nothing."""
    monkeypatch.setitem(sys.modules, "_px", types.ModuleType("_px"))
    ours = ("aio", "health", "held", "logs", "loop", "streams", "sync", "watch")
    for name in ours:
        monkeypatch.delitem(sys.modules, f"cog._worker.{name}", raising=False)
    yield importlib.import_module("cog._worker.aio")
    for name in ours:
        sys.modules.pop(f"cog._worker.{name}", None)


@pytest.fixture
def loop():
    """Return a loop of CPython's own."""
    loop = asyncio.SelectorEventLoop()
    yield loop
    loop.close()


def ways(aio):
    """Return what can begin a task at once on this Python."""
    return [aio._begin_by_hand] + ([aio._begin] if aio._EAGER else [])


def within(loop, call):
    """Run a call in a callback of the loop, as predictions are begun; return what it returns."""
    results = []

    def callback():
        try:
            results.append(call())
        finally:
            loop.stop()

    loop.call_soon(callback)
    loop.run_forever()
    return results.pop()


def test_a_task_begins_at_once(aio, loop):
    """The first step has run when the call returns, before all that waits."""
    for begin in ways(aio):
        seen, order = [], []

        async def one(seen=seen, order=order):
            seen.append(asyncio.current_task())
            order.append("task")
            await asyncio.sleep(0)
            seen.append(asyncio.current_task())

        def call(begin=begin, one=one, order=order):
            loop.call_soon(order.append, "other")
            return begin(one(), loop)

        task = within(loop, call)
        assert order == ["task"]
        assert seen[0] is task
        loop.run_until_complete(asyncio.wait({seen[0]}))
        assert seen[1] is seen[0]
        assert order == ["task", "other"]


def test_a_task_that_ends_at_once_leaves_nothing(aio, loop):
    """No step of it is left in the line."""
    for begin in ways(aio):
        ran = []

        async def one(ran=ran):
            ran.append(1)

        assert within(loop, lambda begin=begin, one=one: begin(one(), loop)).done()
        assert ran == [1]
        assert not loop._ready


class Crowd(deque):
    """A line in which a thread's callback comes right behind the first."""

    stranger = None

    def append(self, item):
        """Let the stranger in too."""
        super().append(item)
        if self.stranger is not None:
            super().append(self.stranger)
            self.stranger = None


def test_a_thread_that_comes_in_between_keeps_its_place(aio, loop):
    """The task then waits for its turn."""
    order = []
    stranger = loop.call_soon(order.append, "stranger")
    loop._ready.clear()
    loop._ready = Crowd()
    loop._ready.stranger = stranger

    async def one():
        order.append("task")

    task = aio._begin_by_hand(one(), loop)
    assert order == []
    loop.run_until_complete(task)
    assert sorted(order) == ["stranger", "task"]


def test_a_loop_without_a_known_line_is_left_alone(aio):
    """Only CPython's own loop has a line that can be looked into."""
    loop = asyncio.SelectorEventLoop()
    assert aio._beginner(loop) is not None
    loop.close()
    other = types.SimpleNamespace(_ready=[])
    assert aio._beginner(other) is (aio._begin if aio._EAGER else None)


def test_a_loop_that_the_model_wants_is_kept(aio):
    """CPython's own has our selector; what a policy makes instead is as it was made."""

    class Own(asyncio.SelectorEventLoop):
        pass

    class Policy(asyncio.DefaultEventLoopPolicy):
        def __init__(self, make):
            super().__init__()
            self.new_event_loop = make

    ours = importlib.import_module("cog._worker.loop")

    loop = ours.new_loop()
    assert (type(loop), type(loop._selector)) == (asyncio.SelectorEventLoop, ours.Selector)
    loop.close()
    own, polling = Own(), asyncio.SelectorEventLoop(selectors.PollSelector())
    try:
        for wanted in own, polling:
            asyncio.set_event_loop_policy(Policy(lambda wanted=wanted: wanted))
            assert ours.new_loop() is wanted
            wanted.close()
    finally:
        asyncio.set_event_loop_policy(None)
