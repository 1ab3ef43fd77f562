"""Batches of the methods that predictions on threads call.

No event loop is in the way. A call joins an inbox. The last call that a batch waits for wakes the
method's own thread, which runs the batch and wakes the callers.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns

import _px

from ..._batch import BatchedMethod
from ..primitives import allocate_lock, block_signals
from ..serve.sync import fail
from .futures import LoopFuture, ThreadFuture
from .hub import StepHub
from .method import is_async_code
from .methodthreads import run_part, start_unowned
from .steps import Batch, Batcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    from ..logs.router import Router
    from ..serve.threads import ThreadServer
    from .method import MethodPlan
    from .waiting import Call

# Within this time, in ns, 32 threads wake up and call again: see bench/steps.sh.
_WAKE_TIME = 3_000_000

_NO_WAKE = 1 << 60  # calls
_NONE: list[Any] = []


class ThreadHub(StepHub):
    """The hub of predictions on threads."""

    min_wait = _WAKE_TIME

    def __init__(self, router: Router | None, follow: Callable[..., Any] | None) -> None:
        super().__init__(router, follow)
        self.lock = allocate_lock()
        self.batchers: list[ThreadBatcher] = []  # that have a thread
        self.resolved: list[Any] = []  # waiters of threads that have results, to wake
        self._loop: asyncio.AbstractEventLoop | None = None

    def batcher(self, plan: MethodPlan, instance: Any) -> Batcher:
        """Return what forms the batches of a method of an object."""
        return ThreadBatcher(self, plan, instance)

    def add_delayed(self, batcher: ThreadBatcher) -> None:
        """Note that calls of a method wait for others. From now on each call is counted at once."""
        self.delayed.add(batcher)
        for each in self.batchers:
            if each is not batcher:
                each.drain()

    def take_resolved(self) -> list[Any]:
        """Remove and return the waiters of threads that have results, for the caller to wake."""
        resolved = self.resolved.copy()
        self.resolved.clear()
        return resolved

    def run_async(self, awaitable: Any) -> Any:
        """Await what an async method returned, on a loop that all async methods share."""
        import asyncio

        async def awaited() -> tuple[Any, BaseException | None]:
            result, raised = None, None
            try:
                result = await awaitable
            except BaseException as error:  # an exit would end the loop
                raised = error
            if _px.is_child():
                _px.exit_child(raised)
            return result, raised

        with self.lock:
            loop = self._loop
            if loop is None:
                loop = asyncio.new_event_loop()
                start_unowned(partial(_run_loop, loop), "loop")
                self._loop = loop
        result, raised = asyncio.run_coroutine_threadsafe(awaited(), loop).result()
        if raised is not None:
            raise raised
        return result


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    block_signals()
    while not loop.is_closed():  # the model may stop it, and SystemExit of a task leaves it
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            fail(error)


class ThreadBatcher(Batcher):
    """A batched method with its own threads, one for each batch that may run at once."""

    hub: ThreadHub

    def __init__(self, hub: ThreadHub, plan: MethodPlan, instance: Any) -> None:
        super().__init__(hub, plan, instance)
        self._wake_count: int = 1  # calls in the inbox from which on a thread is woken
        self._waiter = _px.waiter()  # wakes the method's threads
        self._count = plan.options.concurrent
        self._threads = 0
        self._waits_for_all = self._limit is None and self._count == 1

    def _wait(self, call: Call) -> Any:
        if is_async_code():
            from asyncio import get_running_loop

            on_loop = call.future = LoopFuture(get_running_loop())
            _px.wake(self._enqueue(call))
            return on_loop.future
        waiting = call.future = ThreadFuture(self.hub.resolved.append)
        return waiting.wait(self._enqueue(call))

    def _enqueue(self, call: Call) -> list[Any]:
        """Put a call into the inbox of the method's threads; return the waiters to wake."""
        self._inbox.append(call)
        if not self._threads:
            start_unowned(self._run, 0)
        if len(self._inbox) < self._wake_count:
            return _NONE
        for each in tuple(self.hub.delayed):
            each.schedule()
        return [self._waiter]

    def schedule(self) -> None:
        """Wake a thread, which decides whether to start a batch."""
        _px.wake([self._waiter])

    def call_method(self, calls: list[Call]) -> Any:
        """Call the method itself, for calls with equal keys."""
        result = super().call_method(calls)
        return self.hub.run_async(result) if self.plan.is_async else result

    def _run(self) -> None:
        block_signals()
        try:
            self._run_batches()
        except BaseException as error:
            if _px.is_child():
                _px.exit_child(error)
            from ..errors import abort

            abort(error)

    def _run_batches(self) -> None:
        with self.hub.lock:
            if self._threads == self._count:
                return  # two callers have each started the first thread
            self._threads += 1
            number = self._threads
            if number == 1:
                self.hub.batchers.append(self)
        if number < self._count:
            try:
                start_unowned(self._run, number)
            except RuntimeError:
                pass  # the system has no more: fewer batches run at once
        while True:
            self._run_next()

    def _run_next(self) -> None:
        """Run the next batch, or wait for one; first wake the threads that have results."""
        hub = self.hub
        with hub.lock:
            batch, seconds = self._next()
            resolved = hub.take_resolved()
            due = hub.report.due()
            if due <= (self._duration / 1e9 if batch is not None else 0):  # later it would be late
                hub.report.send()
                due = seconds
        if batch is None:
            _px.wait(self._waiter, min(seconds, due), resolved)
            return
        _px.wake(resolved)
        while not self._run_part(batch):
            pass

    def _run_part(self, batch: Batch) -> bool:
        """Run the current part of a batch; return whether the batch has ended."""
        outcome = run_part(batch)
        with self.hub.lock:
            ended = batch.accept(*outcome)
            if ended:
                self._finish(batch)
                return True
            resolved = self.hub.take_resolved()
        _px.wake(resolved)
        return False

    def _next(self) -> tuple[Batch | None, float]:
        """Return the next batch, or None and the seconds to wait."""
        hub = self.hub
        hub.delayed.discard(self)
        while True:
            self._drain_inbox()
            if not self._calls:
                seconds = self._idle_wait()
            elif delay := self._delay():
                seconds = delay / 1e9
                self._wake_count = max(1, len(self.expected)) if self._waits_for_all else 1
                hub.add_delayed(self)
                if not self._delay():
                    continue
            else:
                batch = self._next_batch()
                if batch is None:
                    continue
                hub.delayed.discard(self)
                self._on_dispatch()
                return batch, 0
            if len(self._inbox) < self._wake_count:
                return None, seconds

    def _on_dispatch(self) -> None:
        """Prepare for further calls while a batch runs."""
        if self._count == 1:  # no other batch can start until this one has ended
            self._wake_count = 1 if self.hub.delayed else _NO_WAKE
        elif self._calls:
            self.schedule()  # for another thread

    def _idle_wait(self) -> float:
        """Return the seconds to wait for calls: first for all callers of the last batch."""
        wait = self._return_wait()
        if self._waits_for_all and self.expected:
            left = self._ended_at + wait - perf_counter_ns()
            if left > 0:
                self._wake_count = len(self.expected)
                return left / 1e9
        if 1 < self._wake_count < _NO_WAKE:
            self._wake_count = 1
            return wait / 1e9  # wait once more, for a call that came meanwhile
        self._wake_count = 1
        return float("inf")

    def drain(self) -> None:
        """Add the calls so far, and let each further call wake a waiting thread."""
        self._wake_count = 1
        if self._inbox:
            self._drain_inbox()
            self.schedule()

    def forget(self, caller: Any) -> None:
        """Stop expecting a caller of the last batch."""
        if caller in self.expected:
            self.expected.discard(caller)
            self._wake_count = max(1, min(self._wake_count, len(self.expected)))
            if len(self._inbox) >= self._wake_count or not self.expected:
                self.schedule()


def attach(server: ThreadServer) -> ThreadHub | None:
    """Let the model's batched methods, if any, form batches of the server's predictions."""
    if not BatchedMethod.used:
        return None
    hub = ThreadHub(server.router, server.follow)
    BatchedMethod.hub = hub
    return hub
