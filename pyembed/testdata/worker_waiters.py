"""Waiters: every wake-up reaches a thread, in any order, and a wait without one ends in time."""

from __future__ import annotations

import sys

from front import SUCCEEDED, Worker, main

MODEL = """
    import threading
    import time

    import _px

    def ping_pong(rounds):
        # Each thread wakes the other one and waits, so one lost wake-up stops both.
        ends, done = [_px.waiter(), _px.waiter()], []

        def play(mine, other):
            assert _px.wait(mine, 60, [])
            for _ in range(rounds):
                assert _px.wait(mine, 60, [other])
            done.append(mine)
            _px.wake([other])

        players = [threading.Thread(target=play, args=pair) for pair in (ends, ends[::-1])]
        for each in players:
            each.start()
        _px.wake(ends[:1])
        for each in players:
            each.join()
        return len(done)

    def many(count):
        # More than fit into a part of the list; some are woken before they wait.
        waiters, woken = [_px.waiter() for _ in range(count)], []

        def await_one(waiter):
            woken.append(_px.wait(waiter, 60, []))

        threads = [threading.Thread(target=await_one, args=(each,)) for each in waiters]
        for each in threads[::2]:
            each.start()
        _px.wake(waiters)
        for each in threads[1::2]:
            each.start()
        for each in threads:
            each.join()
        return sum(woken)

    def shared(count):
        # Several threads wait for one waiter: each wake-up that none has used yet is of one thread.
        waiter, woken = _px.waiter(), []

        def await_it():
            woken.append(_px.wait(waiter, 60, []))

        threads = [threading.Thread(target=await_it) for _ in range(count)]
        for each in threads:
            each.start()
        for n in range(count):
            _px.wake([waiter])
            while len(woken) == n:
                time.sleep(0.001)
        return sum(woken)

    def refuse(*args):
        try:
            _px.wait(*args)
        except (TypeError, SystemError) as error:
            return type(error).__name__

    def run(do: str) -> list:
        if do == "wake":
            return [ping_pong(2000), many(100), shared(5)]
        waiter = _px.waiter()
        if do == "time":
            return [_px.wait(waiter, seconds, []) for seconds in (0, -1, 0.01)]
        _px.wake([waiter, waiter])
        kept = [_px.wait(waiter, 0, []), _px.wait(waiter, 0, [])]
        return kept + [refuse(1, 0, []), refuse(waiter, 0, [1]), refuse(waiter, "1", []), refuse(waiter, 0, 1)]
"""


WANTED = {
    "wake": [2, 100, 5],
    "time": [False, False, False],
    "keep": [True, False, "TypeError", "TypeError", "TypeError", "SystemError"],
}


def test_waiters():
    with Worker(MODEL) as worker:
        for do, want in WANTED.items():
            last = worker.run({"do": do})[-1]
            assert (last.kind, last.value["output"]) == (SUCCEEDED, want), (do, last, worker.drain())


if __name__ == "__main__":
    main(sys.modules[__name__])
