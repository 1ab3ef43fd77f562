"""Which calls of a batched method form the next batch."""

from __future__ import annotations

import itertools
from concurrent.futures import Future

import pytest

from cog._worker.batch.waiting import Call, WaitingCalls


def call(name, key=(), cost=0):
    made = Call((name,), key, cost, 0)
    made.future = Future()
    return made


def taken(waiting):
    return [made.values[0] for made in waiting.take()]


class TestWaitingCalls:
    def test_keys_take_turns(self):
        waiting = WaitingCalls(2, None)
        full = []
        for name, key in zip("abcd", "xxxy", strict=True):
            waiting.add(call(name, key))
            full.append(waiting.is_full())
        assert full == [False, True, True, True]
        assert [taken(waiting) for _ in range(4)] == [["a", "b"], ["d"], ["c"], []]

    def test_unhashable_keys_are_compared(self):
        waiting = WaitingCalls(4, None)
        for name, key in (("a", [1]), ("b", [2]), ("c", [1])):
            waiting.add(call(name, (key,)))
        assert [taken(waiting) for _ in range(2)] == [["a", "c"], ["b"]]

    def test_cost_bounds_a_batch(self):
        waiting = WaitingCalls(8, 10)
        waiting.add(call("a", (), 6))
        assert not waiting.is_full()
        waiting.add(call("b", (), 6))
        assert waiting.is_full()
        waiting.add(call("c", (), 99))
        assert [taken(waiting) for _ in range(3)] == [["a"], ["b"], ["c"]]

    def test_canceled_calls_are_dropped(self):
        waiting = WaitingCalls(8, None)
        gone = call("a")
        waiting.add(gone)
        waiting.add(call("b"))
        gone.future.cancel()
        assert taken(waiting) == ["b"]
        assert waiting.dropped == [gone]
        assert not waiting

    def test_cost_left_over_is_of_those_who_wait(self):
        waiting = WaitingCalls(8, 10)
        for name, cost in (("a", 1e300), ("b", 9.0)):
            waiting.add(call(name, (), cost))
        assert taken(waiting) == ["a"]
        assert not waiting.is_full()
        waiting.add(call("c", (), 1.0))
        assert waiting.is_full()

    def test_key_whose_hash_changes_is_found_again(self):
        class Turning:
            hashes = itertools.count()

            def __hash__(self):
                return next(self.hashes)

        waiting, key = WaitingCalls(8, None), Turning()
        for name in "ab":
            waiting.add(call(name, (key,)))
        assert [taken(waiting) for _ in range(3)] == [["a"], ["b"], []]

    def test_keys_are_compared_with_a_new_one_alone(self):
        class Odd:
            def __eq__(self, other):
                raise ValueError("odd")

        waiting = WaitingCalls(1, None)
        for name in "ab":
            waiting.add(call(name, ([1],)))
        with pytest.raises(TypeError, match="a list parameter: ValueError: odd"):
            waiting.add(call("c", ([Odd()],)))
        assert [taken(waiting) for _ in range(3)] == [["a"], ["b"], []]
