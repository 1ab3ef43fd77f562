"""Batches of the methods that predictions on an event loop call.

All of this runs in callbacks of the loop, which no cancel interrupts, except `LoopBatcher._wait`.
"""

from __future__ import annotations

import asyncio
from functools import partial

import _px

from ..._batch import BatchedMethod
from ..primitives import get_ident
from ..scope import INACTIVE, current
from .futures import LoopFuture, ThreadFuture
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
        give_up: Callable[[BaseException], None],
    ) -> None:
        super().__init__(router, follow)
        self.give_up = give_up  # ends the worker after a defect: a batch would never end
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
        self._scheduled = False  # _decide is in the loop's next turn
        self._timer: Any = None  # calls _decide after a delay
        self._threads = None if plan.is_async else hub.threads(plan.options.concurrent)
        # Batches that run, each with its task if the method is async: the loop keeps no reference.
        self._running: dict[Batch, asyncio.Task[None] | None] = {}

    def _wait(self, call: Call) -> Any:
        """Return a future of the result; on a thread other than the loop's, wait for the result."""
        hub = self.hub
        if get_ident() == hub.thread:
            call.future = future = hub.loop.create_future()
            self._inbox.append(call)
            self.schedule()
            return future
        if is_async_code():  # on a loop of the model
            call.future = on_loop = LoopFuture(asyncio.get_running_loop())
            self._inbox.append(call)
            hub.loop.call_soon_threadsafe(self._decide, context=hub.context)
            return on_loop.future
        call.future = waiting = ThreadFuture(_wake)
        self._inbox.append(call)
        hub.loop.call_soon_threadsafe(self._decide, context=hub.context)
        return waiting.wait([])

    def schedule(self) -> None:
        """Decide in the next turn of the loop whether to start a batch, if there may be one.

        A turn in vain would keep the method's thread from the GIL.
        """
        is_due = self._inbox or (self._calls and self._is_free())
        if is_due and not self._scheduled:
            self.hub.loop.call_soon(self._decide, context=self.hub.context)
            self._scheduled = True  # after it: a cancel may come between the two

    def _decide(self) -> None:
        """Let calls join, and start a batch if one is due."""
        self._scheduled = False
        try:
            self._stop_delay()
            self._drain_inbox()
            if self._calls and self._is_free():
                self._start()
        except BaseException as error:
            self.hub.give_up(error)

    def _is_free(self) -> bool:
        return len(self._running) < self.plan.options.concurrent

    def _stop_delay(self) -> None:
        self.hub.delayed.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        """Start the next batch, or wait for further calls."""
        hub = self.hub
        delay = self._delay()
        if delay:
            hub.delayed.add(self)
            self._timer = hub.loop.call_later(delay / 1e9, self._decide, context=hub.context)
            return
        batch = self._next_batch()
        if batch is not None:
            self._run(batch)
            self.schedule()

    def _run(self, batch: Batch) -> None:
        """Run the current part of a batch."""
        self._running[batch] = None
        if self._threads is None:
            task = batch.context.run(self.hub.loop.create_task, self._await(batch))
            self._running[batch] = task
            task.add_done_callback(partial(self._stopped, batch), context=self.hub.context)
            return
        try:
            self._threads.put(batch, self.end)
        except RuntimeError as error:  # no thread could be started
            self.hub.loop.call_soon(self.end, batch, None, error, context=self.hub.context)

    async def _await(self, batch: Batch) -> None:
        result, raised = None, None
        try:
            result = await batch.call()
        except BaseException as error:
            raised = error
        if _px.is_child():
            _px.exit_child(raised)
        self.hub.context.run(self.end, batch, result, raised)

    def _stopped(self, batch: Batch, task: asyncio.Task[None]) -> None:
        """End a batch whose task was canceled before its first step."""
        if self._running.get(batch) is task:
            self.end(batch, None, asyncio.CancelledError())

    def end(self, batch: Batch, result: Any, raised: BaseException | None) -> None:
        """Take the outcome of a part."""
        try:
            if not batch.accept(result, raised):
                self._run(batch)
                return
            self._finish(batch)
            del self._running[batch]
            self.schedule()  # after one step of each task that has its result now
        except BaseException as error:
            self.hub.give_up(error)


def _wake(waiter: Any) -> None:
    _px.wake([waiter])


def attach(server: AsyncServer) -> LoopHub | None:
    """Let the model's batched methods, if any, form batches of the server's predictions."""
    if not BatchedMethod.used:
        return None
    hub = LoopHub(server._loop, server._router, server.follow, server._slots, server._give_up)
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
