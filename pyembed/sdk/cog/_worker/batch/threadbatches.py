"""Batches of the methods that predictions on threads call.

No event loop is in the way. A call puts itself into an inbox, and the last one that a batch waits
for wakes the method's own thread, which runs the batch and wakes the callers.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from time import perf_counter_ns

import _px

from ..._batch import BatchedMethod
from ..primitives import allocate_lock, block_signals
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
_WAKE_UP = 3_000_000

_NEVER = 1 << 60  # calls
_NONE: list[Any] = []


class ThreadHub(StepHub):
    """The hub of predictions on threads."""

    least_wait = _WAKE_UP

    def __init__(self, router: Router | None, follow: Callable[..., Any] | None) -> None:
        super().__init__(router, follow)
        self.lock = allocate_lock()
        self.batchers: list[ThreadBatcher] = []  # that have a thread
        self.woken: list[Any] = []  # waiters of threads that are to be woken
        self._loop: asyncio.AbstractEventLoop | None = None

    def batcher(self, plan: MethodPlan, instance: Any) -> Batcher:
        """Return what forms the batches of a method of an object."""
        return ThreadBatcher(self, plan, instance)

    def delay(self, batcher: ThreadBatcher) -> None:
        """Take note that calls of a method wait for others: now all calls count at once."""
        self.delayed.add(batcher)
        for each in self.batchers:
            if each is not batcher:
                each.count()

    def settled(self) -> list[Any]:
        """Return the waiters of threads that have got results, which are to be woken now."""
        woken = self.woken.copy()
        self.woken.clear()
        return woken

    def run_async(self, awaitable: Any) -> Any:
        """Return the result of what an async method returned, on a loop that all of them share."""
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
                loop = self._loop = asyncio.new_event_loop()
                start_unowned(partial(_run_loop, loop), "loop")
        result, raised = asyncio.run_coroutine_threadsafe(awaited(), loop).result()
        if raised is not None:
            raise raised
        return result


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    block_signals()
    loop.run_forever()


class ThreadBatcher(Batcher):
    """A batched method that has threads of its own: as many as batches may run at once."""

    hub: ThreadHub

    def __init__(self, hub: ThreadHub, plan: MethodPlan, instance: Any) -> None:
        super().__init__(hub, plan, instance)
        self._inbox: deque[Call] = deque()
        self._needed: int = 1  # the calls in it for which a thread is woken
        self._bell = _px.waiter()  # for which the threads wait
        self._count = plan.options.concurrent
        self._threads = 0
        self._gathers = self._limit is None and self._count == 1
        self._ready = False  # a batch need not wait for more

    def _wait(self, call: Call) -> Any:
        if is_async_code():
            from asyncio import get_running_loop

            on_loop = call.future = LoopFuture(get_running_loop())
            _px.wake(self._send(call))
            return on_loop.future
        waiting = call.future = ThreadFuture(self.hub.woken.append)
        return waiting.wait(self._send(call))

    def _send(self, call: Call) -> list[Any]:
        """Leave a call to the method's threads; return who is to be woken.

        A cancel may interrupt this anywhere, so it changes nothing else.
        """
        self._inbox.append(call)
        if not self._threads:
            start_unowned(self._run, 0)
        if len(self._inbox) < self._needed:
            return _NONE
        for each in tuple(self.hub.delayed):
            each.soon()
        return [self._bell]

    def soon(self) -> None:
        """Have a thread decide whether a batch leaves."""
        _px.wake([self._bell])

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
                return  # two callers have started the first one
            self._threads += 1
            number = self._threads
            if number == 1:
                self.hub.batchers.append(self)
        if number < self._count:
            start_unowned(self._run, number)
        while True:
            self._turn()

    def _turn(self) -> None:
        """Run the next batch, or wait for one. The threads that have a result are woken first."""
        hub = self.hub
        with hub.lock:
            batch, seconds = self._next()
            woken = hub.settled()
            due = hub.report.due()
            if due <= (self._took / 1e9 if batch is not None else 0):  # later it would be late
                hub.report.send()
                due = seconds
        if batch is None:
            _px.wait(self._bell, min(seconds, due), woken)
            return
        _px.wake(woken)
        while not self._run_part(batch):
            pass

    def _run_part(self, batch: Batch) -> bool:
        """Run what is due of a batch; return whether it has ended."""
        outcome = run_part(batch)
        with self.hub.lock:
            ended = batch.take(*outcome)
            if ended:
                self._finish(batch)
                return True
            woken = self.hub.settled()
        _px.wake(woken)
        return False

    def _next(self) -> tuple[Batch | None, float]:
        """Return the next batch; or None, and for how many seconds to wait."""
        hub = self.hub
        hub.delayed.discard(self)
        while True:
            self._receive()
            if not self._calls.count:
                seconds = self._idle()
            elif delay := self._delay():
                seconds = delay / 1e9
                self._needed = max(1, len(self.expected)) if self._gathers else 1
                hub.delay(self)
                if not self._delay():
                    continue
            else:
                batch = self._take()
                self._ready = False
                if batch is None:
                    continue
                hub.delayed.discard(self)
                self._leave()
                return batch, 0
            if len(self._inbox) < self._needed:
                return None, seconds

    def _delay(self) -> int:
        return 0 if self._ready else super()._delay()

    def _leave(self) -> None:
        """Take note that a batch leaves."""
        if self._count == 1:  # until it has ended no call can
            self._needed = 1 if self.hub.delayed else _NEVER
        elif self._calls.count:
            self.soon()  # for another thread

    def _idle(self) -> float:
        """Return how long to wait for calls, in s; at first for all callers of the last batch."""
        wait = self._return_wait()
        if self._gathers and self.expected:
            left = self._ended + wait - perf_counter_ns()
            if left > 0:
                self._needed = len(self.expected)
                return left / 1e9
        if 1 < self._needed < _NEVER:
            self._needed = 1
            return wait / 1e9  # once more, for a call that came meanwhile
        self._needed = 1
        return float("inf")

    def _receive(self) -> None:
        """Add what threads have called."""
        inbox = self._inbox
        while inbox:
            call = inbox.popleft()
            try:
                self._ready = self._add(call) or self._ready
            except BaseException as error:  # of a key that cannot be compared
                call.future.set_exception(error)

    def count(self) -> None:
        """Take note of the calls so far, and have each further one wake the threads that wait."""
        self._needed = 1
        if self._inbox:
            self._receive()
            self.soon()

    def forget(self, caller: Any) -> None:
        """Take note that a caller of the last batch does not come back."""
        if caller in self.expected:
            self.expected.discard(caller)
            self._needed = max(1, min(self._needed, len(self.expected)))
            if len(self._inbox) >= self._needed or not self.expected:
                self.soon()


def attach(server: ThreadServer) -> ThreadHub | None:
    """Let the batched methods of a model form batches of what a server runs, if it has any."""
    if not BatchedMethod.used:
        return None
    hub = ThreadHub(server.router, server.follow)
    BatchedMethod.hub = hub
    return hub
