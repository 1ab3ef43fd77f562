"""The protocol of batched methods: whoever joins, leaves or fails, all other calls end.

Cancels come at any instruction of a call. Orders are random; `PINION_TEST_HUB_SEEDS` sets how many.
"""

from __future__ import annotations

import os
import random
import sys
import types
from itertools import count

import pytest
from hubworlds import OURS, Canceled, LoopWorld, ThreadWorld

from cog._batch import BatchedMethod

SEEDS = int(os.environ.get("PINION_TEST_HUB_SEEDS", "60"))


@pytest.fixture
def worker(monkeypatch):
    """Return the C half of a worker, without any code in it, and forget who has imported it."""
    px = types.ModuleType("_px")
    px.is_child = lambda: False
    px.thread_owner = lambda: None
    px.set_thread_owner = lambda owner: None
    px.control = lambda kind, report: None
    px.waiter = lambda: types.SimpleNamespace(woken=False)
    px.use_scope_variable = px.wake = px.wait = None
    monkeypatch.setitem(sys.modules, "_px", px)
    names = [f"cog._worker.{name}" for name in OURS]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(BatchedMethod, "used", False)
    yield px
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("place", ["first", "last", "second call"])
def test_cancel_at_each_instruction_of_a_call(worker, place):
    """The cancel is raised in the code of the prediction, while it joins.

    Python 3.15 does not trace the instructions of code that it traces for the first time.
    """
    interrupted = 0
    for at in count(1):
        world = LoopWorld(worker, at, max_size=3)
        world.key, world.outcomes = lambda: 0, ("fine",)
        others = ("b", "c") if place == "first" else ()
        if place == "last":
            world.predict("b", 1)
            world.predict("c", 1)
        world.predict("a", 2 if place == "second call" else 1, at)
        for other in others:
            world.predict(other, 1)
        world.finish()
        world.predict("after", 1)
        world.finish()
        assert [world.ended.get(name) for name in others] == ["done"] * len(others)
        interrupted += world.interrupted
        if not world.interrupted and at > 1:
            break
    assert interrupted > 100, "instructions of a call"


def loop_order(worker, seed):
    choose = random.Random(seed).choice
    world = LoopWorld(
        worker,
        seed,
        is_async=choose([False, True]),
        max_size=choose([1, 2, 3]),
        concurrent=choose([1, 1, 2]),
        max_wait_ms=choose([None, None, 0, 100]),
    )
    names = count()
    for _ in range(40):
        act = world.random.randrange(7)
        if act < 2 and sum(name not in world.ended for name in world.tasks) < 5:
            at = world.random.randrange(400) if world.chance(4) else 0
            world.predict(next(names), world.random.randrange(1, 4), at)
        elif act == 2 and world.tasks:
            world.tasks[world.random.choice(list(world.tasks))].cancel()
        elif act == 3 and world.on_threads:
            world.end_batch()
        elif act == 4 and world.chance(3):
            for task in list(world.batcher._running.values()):  # as a model may do to all tasks
                _ = task is not None and task.cancel()
        else:
            world.loop.turn()
    world.finish()


def test_orders_on_a_loop(worker):
    for seed in range(SEEDS):
        try:
            loop_order(worker, seed)
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.parametrize("act", ["cancel", "pause"])
@pytest.mark.parametrize("place", ["first", "last", "second call"])
def test_each_instruction_of_a_call_on_threads(worker, place, act):
    """A cancel is raised there, or all others run there."""
    for at in count(1):
        world = ThreadWorld(worker, at, max_size=3, max_wait_ms=None)
        world.key, world.outcomes = lambda: 0, ("fine",)
        reached = []

        def here(world=world, reached=reached):
            reached.append(1)
            if act == "cancel":
                raise Canceled
            for _ in range(6):
                world.current.pause()

        if place == "last":
            world.predict("b", 1)
            world.predict("c", 1)
            while world.batcher._inbox or world.random.randrange(4):
                _ = world.turn()
        world.predict("a", 2 if place == "second call" else 1, at, here)
        if place == "first":
            world.predict("b", 1)
            world.predict("c", 1)
        world.finish()
        world.predict("after", 1)
        world.finish()
        world.stop()
        if not reached:
            break
    assert at > 100, "instructions of a call"


def thread_order(worker, seed):
    choose = random.Random(seed).choice
    world = ThreadWorld(
        worker,
        seed,
        max_size=choose([1, 2, 3]),
        concurrent=choose([1, 1, 2]),
        max_wait_ms=choose([None, None, 0, 100]),
    )
    names = count()
    for _ in range(60):
        act = world.random.randrange(8)
        if act < 2 and sum(name not in world.ended for name in world.predictions) < 5:
            at = world.random.randrange(300) if world.chance(2) else 0
            pause = lambda: world.current.pause()  # noqa: E731
            world.predict(next(names), world.random.randrange(1, 4), at, pause)
        elif act == 2 and world.predictions:
            actor = world.predictions[world.random.choice(list(world.predictions))]
            actor.cancel = actor.waiter is not None
        else:
            world.turn()
    world.finish()
    world.stop()


def test_orders_on_threads(worker):
    for seed in range(SEEDS):
        try:
            thread_order(worker, seed)
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error
