"""An engine that takes as long as it is told, and a bare loop around it."""

import time
from collections import deque


class Engine:
    """Counts the steps of its sequences, each of which is its last token."""

    def __init__(self, step_us: int, item_us: int) -> None:
        self.steps = 0
        self._step, self._item = step_us / 1e6, item_us / 1e6

    def step(self, sequences: list[int]) -> list[int]:
        self.steps += 1
        seconds = self._step + len(sequences) * self._item
        if seconds:
            time.sleep(seconds)
        return [token + 1 for token in sequences]


def bare_loop(engine: Engine, lengths: list[int], most: int) -> float:
    """Return the seconds for sequences of some lengths, of which at most so many are active."""
    waiting = deque(lengths)
    active: list[int] = []
    ends: list[int] = []
    began = time.perf_counter()
    while waiting or active:
        while waiting and len(active) < most:
            active.append(0)
            ends.append(waiting.popleft())
        active = engine.step(active)
        going = [(token, end) for token, end in zip(active, ends) if token < end]
        active, ends = [token for token, _ in going], [end for _, end in going]
    return time.perf_counter() - began
