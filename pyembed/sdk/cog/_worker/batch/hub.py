"""Which predictions of a worker run, and which of them wait at batched methods."""

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

    __slots__ = ("last", "owed", "waiting")

    def __init__(self) -> None:
        self.waiting = 0  # its calls without a result
        self.last: Batcher | None = None  # whose next batch may wait for it
        self.owed = 0  # results that it got from that and has not followed by a call


class StepHub:
    """Knows which predictions run in a worker, and which of them wait at batched methods.

    All of a `LoopHub` is used on its loop, all of a `ThreadHub` under its lock, except `bound`.
    """

    least_wait = 0  # ns, for the callers of the last call to come back

    def __init__(self, router: Router | None, follow: Callable[..., Any] | None) -> None:
        self.router = router
        self.follow = follow
        self.context = batch_context()
        self.report = BatchReport()
        self.running = 0
        self.blocked = 0  # predictions with calls that have no result
        self.delayed: set[Batcher] = set()  # those that hold calls back for a time
        self._callers: dict[tuple[int, int], Caller] = {}
        self._live: set[tuple[int, int]] = set()
        self._unkept: dict[tuple[int, BatchedMethod], Batcher] = {}

    def batcher(self, plan: MethodPlan, instance: Any) -> Batcher:
        """Return what forms the batches of a method of an object."""
        raise NotImplementedError

    def report_later(self) -> None:
        """Have the report sent soon: it has its first batch."""

    def begin(self, who: tuple[int, int]) -> None:
        """Take note of a prediction, by its slot and id, before its calls."""
        self.running += 1
        self._live.add(who)

    def end(self, who: tuple[int, int]) -> None:
        """Forget a prediction, which has ended."""
        if who not in self._live:
            return
        self.running -= 1
        self._live.discard(who)
        caller = self._callers.pop(who, None)
        if caller is not None:
            if caller.waiting:
                caller.waiting = 0
                self.blocked -= 1
            batcher = caller.last
            if batcher is not None:
                batcher.forget(caller)
        self.hurry()

    def hurry(self) -> None:
        """End all delays if every prediction waits at a batched method."""
        if self.delayed and self.blocked >= self.running:
            for batcher in list(self.delayed):
                batcher.soon()

    def caller(self, who: tuple[int, int] | None) -> Caller | None:
        """Return the prediction that calls; None if this code belongs to none that runs."""
        if who not in self._live or who is None:
            return None
        caller = self._callers.get(who)
        if caller is None:
            caller = self._callers[who] = Caller()
        return caller

    def who(self) -> tuple[int, int] | None:
        """Return the slot and id of the prediction that calls."""
        return owner.get()

    def bound(self, method: BatchedMethod, instance: Any, name: str) -> Batcher:
        """Return a method of an object, which keeps it."""
        kept = getattr(instance, "__dict__", None)
        if kept is not None and getattr(type(instance), name, None) is method:
            batcher: Batcher = kept.setdefault(name, self.batcher(method.plan(), instance))
            return batcher
        key = (id(instance), method)
        known = self._unkept.get(key)
        if known is None:
            known = self._unkept.setdefault(key, self.batcher(method.plan(), instance))
        return known
