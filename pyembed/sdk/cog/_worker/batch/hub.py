"""Which predictions of a worker run, and which of them wait at batched methods.

All of this runs on one event loop, except `StepHub.bound` and `StepHub.announce`.
"""

from __future__ import annotations

from collections import deque

from ..._batch import BatchedMethod
from ..logs.router import owner
from ..primitives import get_ident
from ..scope import INACTIVE, current
from .methodthreads import Threads, batch_context
from .report import BatchReport
from .steps import Batcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    from ..logs.router import Router
    from ..serve.aio import AsyncServer, Slot


class Caller:
    """A prediction that calls batched methods."""

    __slots__ = ("last", "owed", "waiting")

    def __init__(self) -> None:
        self.waiting = 0  # its calls without a result
        self.last: Batcher | None = None  # whose next batch may wait for it
        self.owed = 0  # results that it got from that and has not followed by a call


class StepHub:
    """Knows which predictions run in a worker, and which of them wait at batched methods."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        router: Router | None,
        follow: Callable[..., Any] | None,
        slots: list[Slot] | None = None,
    ) -> None:
        self.loop = loop
        self.router = router
        self.follow = follow
        self.context = batch_context()
        self.report = BatchReport(loop, self.context)
        self.thread = get_ident()  # the loop's
        self.least_wait = 0  # ns, for the callers of the last call to come back
        self.running = 0
        self.blocked = 0  # predictions with calls that have no result
        self.delayed: set[Batcher] = set()  # those that hold calls back for a time
        self._callers: dict[tuple[int, int], Caller] = {}
        self._live: set[tuple[int, int]] = set()
        self._announced: deque[tuple[int, int]] = deque()
        self._slots = slots
        self._threads: list[Threads] = []
        self._unkept: dict[tuple[int, BatchedMethod], Batcher] = {}

    def begin(self, who: tuple[int, int]) -> None:
        """Take note of a prediction, by its slot and id. Called on the loop, as end."""
        self.running += 1
        self._live.add(who)

    def announce(self, who: tuple[int, int]) -> None:
        """Have the loop take note of a prediction, from another thread and before its calls."""
        self._announced.append(who)
        self.loop.call_soon_threadsafe(self._admit)

    def _admit(self) -> None:
        while self._announced:
            self.begin(self._announced.popleft())

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
        if who not in self._live:
            self._admit()  # a turn of the loop may take its call before it runs what was announced
        if who not in self._live or who is None:
            return None
        caller = self._callers.get(who)
        if caller is None:
            caller = self._callers[who] = Caller()
        return caller

    def who(self) -> tuple[int, int] | None:
        """Return the slot and id of the prediction that calls."""
        if self._slots is None or self.router is not None:
            return owner.get()
        slot = self._slots[0]
        return (0, slot.id) if current.get() is not INACTIVE else None

    def bound(self, method: BatchedMethod, instance: Any, name: str) -> Batcher:
        """Return a method of an object, which keeps it."""
        kept = getattr(instance, "__dict__", None)
        if kept is not None and getattr(type(instance), name, None) is method:
            batcher: Batcher = kept.setdefault(name, Batcher(self, method.plan(), instance))
            return batcher
        key = (id(instance), method)
        known = self._unkept.get(key)
        if known is None:
            known = self._unkept.setdefault(key, Batcher(self, method.plan(), instance))
        return known

    def threads(self, count: int) -> Threads:
        """Return threads for a synchronous method."""
        threads = Threads(self.loop, count)
        self._threads.append(threads)
        return threads

    def close(self) -> None:
        """Send the last report, and end the threads."""
        self.report.send()
        for threads in self._threads:
            threads.end()


def attach(server: AsyncServer) -> StepHub | None:
    """Let the batched methods of a model form batches of what a server runs, if it has any."""
    if not BatchedMethod.used:
        return None
    hub = StepHub(server._loop, server._router, server.follow, server._slots)
    one, release = server._one, server._release

    def begin(slot: Slot, id: int, *rest: Any) -> Any:
        hub.begin((slot.index, id))
        return one(slot, id, *rest)

    def end(slot: Slot, id: int) -> None:
        hub.end((slot.index, id))
        release(slot, id)

    server._one = begin  # type: ignore[method-assign, assignment]
    server._release = end  # type: ignore[method-assign]
    BatchedMethod.hub = hub
    return hub
