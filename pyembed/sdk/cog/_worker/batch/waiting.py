"""Pending calls of a batched method, which wait for their batch."""

from __future__ import annotations

from collections import deque

from ..errors import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Call:
    """One call of a batched method.

    values  its element of each batched argument
    key     the other arguments, equal in all calls of a batch
    hash    of the key, as it was when the call was made; None: it has none, such as a list
    cost    what it adds to the cost of a batch
    future  gets its result; done() before that: the caller no longer waits
    caller  the calling prediction, None for code outside of predictions
    scope   of that prediction; owner is its slot and id, for logs
    within  the batches in which it was made
    since   when it was made, by perf_counter_ns
    """

    __slots__ = (
        "caller",
        "cost",
        "future",
        "hash",
        "key",
        "owner",
        "scope",
        "since",
        "values",
        "within",
    )

    def __init__(self, values: tuple[Any, ...], key: Any, cost: float, since: int) -> None:
        self.values = values
        self.key = key
        try:
            self.hash: int | None = hash(key)
        except TypeError:
            self.hash = None
        self.cost = cost
        self.since = since
        self.future: Any = None
        self.caller: Any = None
        self.scope: Any = None
        self.owner: Any = None
        self.within: Any = ()


class _Queue:
    """The pending calls with one key. The key is compared in `WaitingCalls.add` alone."""

    __slots__ = ("calls", "hash", "key")

    def __init__(self, call: Call) -> None:
        self.key = call.key
        self.hash = call.hash
        self.calls: deque[Call] = deque()


def _equal(key: Any, other: Any) -> bool:
    try:
        return bool(key == other)
    except Exception as exc:
        raise TypeError(
            f"cannot compare an argument that is not a list parameter: {one_line(exc)}; the calls "
            "of a batch must have equal ones, so pass numbers or text, or make it a list[...]"
        ) from exc


class WaitingCalls:
    """First come, first served among calls with equal keys; keys take turns."""

    def __init__(self, max_size: int, max_cost: float | None) -> None:
        self._max_size = max_size
        self._max_cost = max_cost
        self._turns: deque[_Queue] = deque()  # none is empty
        self._by_hash: dict[int | None, list[_Queue]] = {}
        self.dropped: list[Call] = []  # calls without a waiting caller, which take has removed

    def __bool__(self) -> bool:
        """Return whether there are calls, also such whose callers no longer wait."""
        return bool(self._turns)

    def add(self, call: Call) -> None:
        """Add a call. What its key raises when it is compared is raised, and nothing is added."""
        alike = self._by_hash.setdefault(call.hash, [])
        queue = next((each for each in alike if _equal(each.key, call.key)), None)
        if queue is None:
            queue = _Queue(call)
            alike.append(queue)
            self._turns.append(queue)
        queue.calls.append(call)

    def is_full(self) -> bool:
        """Return whether there is a full batch."""
        return any(map(self._fills, self._turns))

    def _fills(self, queue: _Queue) -> bool:
        return len(queue.calls) >= self._max_size or (
            self._max_cost is not None and sum(c.cost for c in queue.calls) >= self._max_cost
        )

    def take(self) -> list[Call]:
        """Return the calls of the next batch, [] if no caller waits any more."""
        limit = self._max_cost
        part: list[Call] = []
        while not part and self._turns:
            queue = self._turns.popleft()
            calls, cost = queue.calls, 0.0
            while calls and len(part) < self._max_size:
                call = calls[0]
                if call.future.done():
                    self.dropped.append(call)
                elif limit is not None and part and cost + call.cost > limit:
                    break
                else:
                    cost += call.cost
                    part.append(call)
                calls.popleft()
            if calls:
                self._turns.append(queue)  # behind the other keys
            else:
                self._forget(queue)
        return part

    def _forget(self, queue: _Queue) -> None:
        alike = self._by_hash[queue.hash]
        alike.remove(queue)
        if not alike:
            del self._by_hash[queue.hash]

    def oldest(self) -> int:
        """Return when the oldest call was made."""
        return min(queue.calls[0].since for queue in self._turns)
