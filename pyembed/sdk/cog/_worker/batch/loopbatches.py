"""Batches of the methods that predictions on an event loop call.

All of this runs on the loop, except `LoopBatcher._wait`.
"""

from __future__ import annotations

import asyncio
from collections import deque

import _px

from ..._batch import BatchedMethod
from ..primitives import get_ident
from ..scope import INACTIVE, current
from .futures import ThreadFuture
from .hub import StepHub
from .method import is_async_code
from .methodthreads import Threads
from .report import DELAY
from .steps import Batcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..logs.router import Router
    from ..serve.aio import AsyncServer
    from ..serve.aioslot import Slot
    from .method import MethodPlan
    from .steps import Batch
    from .waiting import Call


class LoopHub(StepHub):
    """The hub of predictions on an event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        router: Router | None,
        follow: Callable[..., Any] | None,
        slots: list[Slot],
    ) -> None:
        super().__init__(router, follow)
        self.loop = loop
        self.thread = get_ident()
        self._slots = slots
        self._threads: list[Threads] = []

    def schedule_report(self) -> None:
        """Schedule sending the report, which has its first batch."""
        self.loop.call_later(DELAY, self.report.send, context=self.context)

    def batcher(self, plan: MethodPlan, instance: Any) -> Batcher:
        """Return the batcher of a method of an object."""
        return LoopBatcher(self, plan, instance)

    def current_owner(self) -> tuple[int, int] | None:
        """Return the slot and id of the prediction that calls."""
        if self.router is not None:
            return super().current_owner()
        slot = self._slots[0]
        return (0, slot.id) if current.get() is not INACTIVE else None

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


class LoopBatcher(Batcher):
    """A batched method. The loop runs it if it is async; otherwise threads do."""

    hub: LoopHub

    def __init__(self, hub: LoopHub, plan: MethodPlan, instance: Any) -> None:
        super().__init__(hub, plan, instance)
        concurrent = plan.options.concurrent
        self._free = concurrent
        self._timer: Any = None
        self._inbox: deque[Call] = deque()  # calls from threads
        self._threads = None if plan.is_async else hub.threads(concurrent)
        self._tasks: set[asyncio.Task[None]] = set()  # the loop keeps no reference

    def _wait(self, call: Call) -> Any:
        """Return a future of the result; on a thread other than the loop's, wait for the result."""
        hub = self.hub
        if get_ident() == hub.thread:
            call.future = hub.loop.create_future()
            self._join(call)
            return call.future
        if is_async_code():  # on a loop of the model
            later = asyncio.run_coroutine_threadsafe(self._later(call), hub.loop)
            return asyncio.wrap_future(later)
        call.future = waiting = ThreadFuture(_wake)
        self._inbox.append(call)
        hub.loop.call_soon_threadsafe(self._drain_inbox)
        return waiting.wait([])

    async def _later(self, call: Call) -> Any:
        call.future = self.hub.loop.create_future()
        self._join(call)
        return await call.future

    def _drain_inbox(self) -> None:
        """Add the calls that threads have made."""
        inbox = self._inbox
        while inbox:
            call = inbox.popleft()
            try:
                self._join(call)
            except BaseException as error:  # a key that cannot be compared
                call.future.set_exception(error)

    def _join(self, call: Call) -> None:
        ready = self._add(call)
        if not self._free:
            return
        if ready:
            self._dispatch()
        else:
            self.schedule()

    def schedule(self) -> None:
        """Decide in the next turn of the loop whether to start a batch."""
        if not self._calls.count or not self._free:
            return
        if self in self.hub.delayed:
            self.hub.delayed.discard(self)
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.hub.loop.call_soon(self._decide, context=self.hub.context)

    def _decide(self) -> None:
        self._timer = None
        hub = self.hub
        hub.delayed.discard(self)
        if not self._calls.count or not self._free:
            return
        delay = self._delay()
        if delay:
            hub.delayed.add(self)
            self._timer = hub.loop.call_later(delay / 1e9, self._decide, context=hub.context)
        else:
            self._dispatch()

    def _dispatch(self) -> None:
        """Start the next batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.hub.delayed.discard(self)
        batch = self._next_batch()
        if batch is not None:
            self._free -= 1
            self._run(batch)
            self.schedule()

    def _run(self, batch: Batch) -> None:
        if self._threads is not None:
            self._threads.put(batch, self.end)
        else:
            task = batch.context.run(self.hub.loop.create_task, self._await(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard, context=self.hub.context)

    async def _await(self, batch: Batch) -> None:
        result, raised = None, None
        try:
            result = await batch.call()
        except BaseException as error:
            raised = error
        if _px.is_child():
            _px.exit_child(raised)
        self.hub.context.run(self.end, batch, result, raised)

    def end(self, batch: Batch, result: Any, raised: BaseException | None) -> None:
        """Take the outcome of a part."""
        if not batch.accept(result, raised):
            self._run(batch)
            return
        self._finish(batch)
        self._free += 1
        self.schedule()  # after one step of each task that has its result now


def _wake(waiter: Any) -> None:
    _px.wake([waiter])


def attach(server: AsyncServer) -> LoopHub | None:
    """Let the model's batched methods, if any, form batches of the server's predictions."""
    if not BatchedMethod.used:
        return None
    hub = LoopHub(server._loop, server._router, server.follow, server._slots)
    serve_request, release = server._serve_request, server._release

    def begin(slot: Slot, id: int, *rest: Any) -> Any:
        hub.begin((slot.index, id))
        return serve_request(slot, id, *rest)

    def end(slot: Slot, id: int) -> None:
        hub.end((slot.index, id))
        release(slot, id)

    server._serve_request = begin  # type: ignore[method-assign, assignment]
    server._release = end  # type: ignore[method-assign]
    BatchedMethod.hub = hub
    return hub
