"""Measures the least that a step on threads costs in CPython: threads that only hand over a number at each step.

The last one of a step wakes all others, without the GIL or by Python's locks. Run: python3 bench/lib/handover.py
"""

import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable

THREADS = 24
STEPS = 2000
ROUNDS = 5

Wait = Callable[[int, int], object]  # of a thread, in a step
Wake = Callable[[int, int], object]


def by_one_call(n: int) -> tuple[Wait, Wake]:
    """Return how a thread waits, and how the last one wakes all others: by one system call, which needs no GIL."""
    # Two in turn, so that a fast thread cannot take what a slow one has still to read.
    counters = [os.eventfd(0, os.EFD_SEMAPHORE) for _ in range(2)]
    return (
        lambda _, step: os.eventfd_read(counters[step % 2]),
        lambda _, step: os.eventfd_write(counters[step % 2], n - 1),
    )


def by_locks(n: int) -> tuple[Wait, Wake]:
    """Do the same with a lock of Python's for each thread."""
    locks = [threading.Lock() for _ in range(n)]
    for lock in locks:
        lock.acquire()

    def wake(last: int, _: int) -> None:
        for i, lock in enumerate(locks):
            if i != last:
                lock.release()

    return lambda i, _: locks[i].acquire(), wake


def step_us(make: Callable[[int], tuple[Wait, Wake]]) -> float:
    """Return the microseconds of a step."""
    wait, wake = make(THREADS)
    handed = itertools.count(1)

    def run(i: int) -> None:
        for step in range(STEPS):
            if next(handed) == THREADS * (step + 1):
                wake(i, step)
            else:
                wait(i, step)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - began) / STEPS * 1e6


def measure() -> None:
    """Measure both in turn, and print the median and the range of the rounds."""
    ways = {"woken without the GIL": by_one_call, "woken by Python's locks": by_locks}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, make in ways.items():
            found[name].append(step_us(make))
    print(f"\na step of {THREADS} threads that only hand over a number, in µs:")
    for name, values in found.items():
        median = statistics.median(values)
        print(f"{name}: median {median:.0f}, {min(values):.0f} to {max(values):.0f}")


if __name__ == "__main__":
    measure()
