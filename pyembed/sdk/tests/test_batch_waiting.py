"""Which calls of a batched method form the next batch."""

from __future__ import annotations

from concurrent.futures import Future

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
        full = [waiting.add(call(name, key)) for name, key in zip("abcd", "xxxy", strict=True)]
        assert full == [False, True, True, False]
        assert [taken(waiting) for _ in range(4)] == [["a", "b"], ["d"], ["c"], []]

    def test_unhashable_keys_are_compared(self):
        waiting = WaitingCalls(4, None)
        for name, key in (("a", [1]), ("b", [2]), ("c", [1])):
            waiting.add(call(name, (key,)))
        assert [taken(waiting) for _ in range(2)] == [["a", "c"], ["b"]]

    def test_cost_bounds_a_batch(self):
        waiting = WaitingCalls(8, 10)
        assert [waiting.add(call(name, (), 6)) for name in "ab"] == [False, True]
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
        assert waiting.count == 0
