"""Pending calls of a batched method, which wait for their batch."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Call:
    """One call of a batched method.

    values  its element of each batched argument
    key     the other arguments, equal in all calls of a batch
    cost    what it adds to the cost of a batch
    future  gets its result; done() before that: the caller no longer waits
    caller  the calling prediction, None for code outside of predictions
    scope   of that prediction; owner is its slot and id, for logs
    within  the batches in which it was made
    since   when it was made, by perf_counter_ns
    """

    __slots__ = ("caller", "cost", "future", "key", "owner", "scope", "since", "values", "within")

    def __init__(self, values: tuple[Any, ...], key: Any, cost: float, since: int) -> None:
        self.values = values
        self.key = key
        self.cost = cost
        self.since = since
        self.future: Any = None
        self.caller: Any = None
        self.scope: Any = None
        self.owner: Any = None
        self.within: Any = ()


class _Queue:
    __slots__ = ("calls", "cost")

    def __init__(self) -> None:
        self.calls: deque[Call] = deque()
        self.cost: float = 0


class _Unhashable:
    """An unhashable key, such as a list. It is found by comparison with other unhashable keys."""

    __slots__ = ("_key",)

    def __init__(self, key: Any) -> None:
        self._key = key

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Unhashable):
            return False
        try:
            return bool(self._key == other._key)
        except Exception as exc:
            raise TypeError(
                f"cannot compare an argument that is not a list parameter: {exc}; the calls of a "
                "batch must have equal ones, so pass numbers or text, or make it a list[...]"
            ) from exc


class WaitingCalls:
    """First come, first served among calls with equal keys; keys take turns."""

    def __init__(self, max_size: int, max_cost: float | None) -> None:
        self._max_size = max_size
        self._max_cost = max_cost
        self._queues: dict[Any, _Queue] = {}
        self.count = 0  # includes calls whose callers no longer wait
        self.dropped: list[Call] = []  # calls without a waiting caller, which take has removed

    def add(self, call: Call) -> bool:
        """Add a call; return whether a batch of its key is full."""
        key = call.key
        try:
            queue = self._queues.get(key)
        except TypeError:  # unhashable
            key = _Unhashable(key)
            queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue()
        queue.calls.append(call)
        queue.cost += call.cost
        self.count += 1
        return self._fills(queue)

    def _fills(self, queue: _Queue) -> bool:
        return len(queue.calls) >= self._max_size or (
            self._max_cost is not None and queue.cost >= self._max_cost
        )

    def is_full(self) -> bool:
        """Return whether there is a full batch."""
        return any(map(self._fills, self._queues.values()))

    def take(self) -> list[Call]:
        """Return the calls of the next batch, [] if no caller waits any more."""
        limit = self._max_cost
        part: list[Call] = []
        while not part and self._queues:
            key = next(iter(self._queues))
            queue = self._queues.pop(key)
            calls, cost = queue.calls, 0.0
            while calls and len(part) < self._max_size:
                call = calls[0]
                if not call.future.done():
                    if limit is not None and part and cost + call.cost > limit:
                        break
                    cost += call.cost
                    part.append(call)
                else:
                    self.dropped.append(call)
                calls.popleft()
                queue.cost -= call.cost
                self.count -= 1
            if calls:
                self._queues[key] = queue  # behind the other keys
        return part

    def oldest(self) -> int:
        """Return when the oldest call was made."""
        return min(queue.calls[0].since for queue in self._queues.values())
