"""Tracks which predictions of a worker run, and which wait at batched methods."""

from __future__ import annotations

from ..logs.router import owner
from .methodthreads import batch_context
from .report import BatchReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._batch import BatchedMethod
    from ..logs.router import Router
    from .method import MethodPlan
    from .steps import Batcher
    from .waiting import Call


class Caller:
    """A prediction that runs. It waits if one of its calls does."""

    __slots__ = ("calls", "expected_calls", "last")

    def __init__(self) -> None:
        self.calls: set[Call] = set()  # without a result
        self.last: Batcher | None = None  # its next batch may wait for this prediction
        self.expected_calls = 0  # results from there that no further call has followed


class StepHub:
    """Tracks which predictions run in a worker, and which wait at batched methods.

    Except `bound`, a `LoopHub` is used on its loop only, and a `ThreadHub` under its lock.
    """

    min_wait = 0  # ns to wait for the callers of the last batch to call again

    def __init__(self, router: Router | None, follow: Callable[..., Any] | None) -> None:
        self.router = router
        self.follow = follow
        self.context = batch_context()
        self.report = BatchReport()
        self.delayed: set[Batcher] = set()  # batchers whose calls wait for others
        self._callers: dict[tuple[int, int] | None, Caller] = {}
        self._by_instance: dict[tuple[int, BatchedMethod], Batcher] = {}

    def batcher(self, plan: MethodPlan, instance: Any) -> Batcher:
        """Return the batcher of a method of an object."""
        raise NotImplementedError

    def schedule_report(self) -> None:
        """Schedule sending the report, which has its first batch."""

    def begin(self, key: tuple[int, int]) -> None:
        """Register a prediction, by its slot and id, before its calls."""
        self._callers[key] = Caller()

    def end(self, key: tuple[int, int]) -> None:
        """Remove a prediction that has ended."""
        caller = self._callers.pop(key, None)
        if caller is None:
            return
        caller.calls.clear()
        if caller.last is not None:
            caller.last.forget(caller)
        self.release_delays()

    def all_wait(self) -> bool:
        """Return whether every prediction waits at a batched method."""
        return all(caller.calls for caller in self._callers.values())

    def release_delays(self) -> None:
        """End all delays if every prediction waits at a batched method."""
        if self.delayed and self.all_wait():
            for batcher in list(self.delayed):
                batcher.schedule()

    def caller(self, key: tuple[int, int] | None) -> Caller | None:
        """Return the calling prediction, or None if this code belongs to no running prediction."""
        return self._callers.get(key)

    def current_owner(self) -> tuple[int, int] | None:
        """Return the slot and id of the prediction that calls."""
        return owner.get()

    def bound(self, method: BatchedMethod, instance: Any, name: str) -> Batcher:
        """Return the batcher of an object's method; the object caches it."""
        kept = getattr(instance, "__dict__", None)
        if kept is not None and getattr(type(instance), name, None) is method:
            batcher: Batcher = kept.setdefault(name, self.batcher(method.plan(), instance))
            return batcher
        key = (id(instance), method)
        known = self._by_instance.get(key)
        if known is None:
            known = self._by_instance.setdefault(key, self.batcher(method.plan(), instance))
        return known
