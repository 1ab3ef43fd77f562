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


class Caller:
    """A prediction that calls batched methods."""

    __slots__ = ("expected_calls", "last", "pending")

    def __init__(self) -> None:
        self.pending = 0  # calls without a result
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
        self.running = 0
        self.blocked = 0  # predictions with pending calls
        self.delayed: set[Batcher] = set()  # batchers whose calls wait for others
        self._callers: dict[tuple[int, int], Caller] = {}
        self._live: set[tuple[int, int]] = set()
        self._by_instance: dict[tuple[int, BatchedMethod], Batcher] = {}

    def batcher(self, plan: MethodPlan, instance: Any) -> Batcher:
        """Return the batcher of a method of an object."""
        raise NotImplementedError

    def schedule_report(self) -> None:
        """Schedule sending the report, which has its first batch."""

    def begin(self, key: tuple[int, int]) -> None:
        """Register a prediction, by its slot and id, before its calls."""
        self.running += 1
        self._live.add(key)

    def end(self, key: tuple[int, int]) -> None:
        """Remove a prediction that has ended."""
        if key not in self._live:
            return
        self.running -= 1
        self._live.discard(key)
        caller = self._callers.pop(key, None)
        if caller is not None:
            if caller.pending:
                caller.pending = 0
                self.blocked -= 1
            batcher = caller.last
            if batcher is not None:
                batcher.forget(caller)
        self.release_delays()

    def release_delays(self) -> None:
        """End all delays if every prediction waits at a batched method."""
        if self.delayed and self.blocked >= self.running:
            for batcher in list(self.delayed):
                batcher.schedule()

    def caller(self, key: tuple[int, int] | None) -> Caller | None:
        """Return the calling prediction, or None if this code belongs to no running prediction."""
        if key not in self._live or key is None:
            return None
        caller = self._callers.get(key)
        if caller is None:
            caller = self._callers[key] = Caller()
        return caller

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
