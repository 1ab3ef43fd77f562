"""Batches of the methods that predictions call, formed between their steps.

All of this runs on the loop, except `Batcher.__call__`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter_ns

import _px

from ..logs.router import owner
from ..primitives import get_ident
from ..scope import Scope, current
from .method import LocalMethod, is_async_code
from .methodthreads import within
from .report import trace_of
from .rules import CallRules
from .waiting import Call, ThreadFuture, WaitingCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .hub import Caller, StepHub
    from .method import MethodPlan
    from .report import BatchTrace

# The adaptive wait for the items of the last call, in ns: at most this, and this part of its time.
_MOST_WAIT = 5_000_000
_PART = 10
_LEAST_WAIT = 50_000  # a shorter one is not worth a timer


class SharedScope(Scope):
    """The scope of a call for several predictions: a metric is recorded for each."""

    def __init__(self, scopes: list[Scope], trace: BatchTrace | None) -> None:
        super().__init__(None if trace is None else {"traceparent": trace.parent})
        self._scopes = scopes

    def record_metric(self, key: str, value: Any, mode: str | None = "replace") -> None:
        """Record a metric of all the predictions."""
        for scope in self._scopes:
            scope.record_metric(key, value, mode)

    def delete_metric(self, key: str) -> None:
        """Delete a metric of all the predictions."""
        for scope in self._scopes:
            scope.delete_metric(key)

    def count_batch(self, method: str, size: int) -> None:
        """Count a batch, which a call in this batch is in, for all the predictions."""
        for scope in self._scopes:
            scope.count_batch(method, size)


class Batch:
    """Calls that the method was given, until all have their results."""

    def __init__(self, batcher: Batcher, calls: list[Call]) -> None:
        self._batcher = batcher
        self.calls = calls
        self.parts = [calls]  # to be run, the last first
        self.part = calls
        self.running = True
        self.began = perf_counter_ns()
        self.thread_owner = _px.thread_owner()
        self.context: Any = batcher.hub.context.copy()
        self.error: BaseException | None = None  # that the last failed part raised
        self.trace: BatchTrace | None = None
        scopes = list(dict.fromkeys(call.scope for call in calls))
        if batcher.hub.follow is not None:
            self.trace = trace_of([scope._context for scope in scopes])
        alone = len(scopes) == 1 and self.trace is None
        self.context.run(current.set, scopes[0] if alone else SharedScope(scopes, self.trace))
        self.owner: Any = None
        router = batcher.hub.router
        if router is not None:
            owners = [who for who in dict.fromkeys(call.owner for call in calls) if who is not None]
            if len(owners) == 1:
                self.context.run(owner.set, owners[0])
            elif owners:
                self.owner = tuple(owners)
                self.context.run(router.begin, self.owner)
        around = dict.fromkeys(batch for call in calls for batch in call.within)
        self.context.run(within.set, (*around, self))

    def finish(self) -> None:
        """Drop what the model's threads, whose contexts have this batch, have no use for."""
        self.running = False
        self.calls = self.part = []
        self.context = None  # it refers to this batch

    def calls_method(self, called: Batcher) -> None:
        """Take note of a call in this batch; raise if each method could wait for the other."""
        if not self.running:
            return
        if called.calls_method(self._batcher):
            raise RuntimeError(
                f"{called.name} is called in a batch of {self._batcher.name}, whose end it "
                "waits for itself; call a method without @batch there"
            )
        self._batcher.called.add(called)

    def end(self, result: Any, raised: BaseException | None) -> None:
        """Take the outcome of a part. Called on the loop."""
        self._batcher.take(self, result, raised)


class Batcher:
    """A batched method of one object: what predictions call."""

    def __init__(self, hub: StepHub, plan: MethodPlan, instance: Any) -> None:
        options = plan.options
        self.hub = hub
        self._plan = plan
        self._function = (
            plan.method.function if hub.follow is None else hub.follow(plan.method.function)
        )
        self._instance = instance
        self._rules = CallRules(options.isolate)
        self._calls = WaitingCalls(options.max_size, options.max_cost)
        self._free = options.concurrent
        self._limit = None if options.max_wait_ms is None else int(options.max_wait_ms * 1e6)
        self._timer: Any = None
        self._inbox: deque[Call] = deque()  # of threads; all of them are added at once
        self._needed = 1  # the calls in it for which the loop is woken
        self._late: Any = None  # the timer that adds those that were not enough
        self._gathers = bool(hub.least_wait) and self._limit is None and options.concurrent == 1
        self._ended = 0  # when the last call ended, and what it took
        self._took = 0
        self.expected: set[Caller] = set()  # of the last call, that may come back
        self.called: set[Batcher] = set()  # by batches of this method
        self._threads = None if plan.is_async else hub.threads(options.concurrent)
        self._tasks: set[asyncio.Task[None]] = set()  # the loop keeps no reference
        self.name: str = plan.name
        self.__wrapped__ = plan.method.function
        self.__name__: str = vars(plan.method)["__name__"]
        self.__doc__ = plan.method.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return a future of the result; in another thread than the loop's, wait for it."""
        hub = self.hub
        if _px.is_child():  # which has no loop
            return LocalMethod(self._plan, self._instance, forked=True)(*args, **named)
        for batch in within.get():
            batch.calls_method(self)
        values, key = self._plan.bind(*args, **named)
        call = Call(values, key, self._plan.cost(values), perf_counter_ns())
        call.scope, call.owner, call.within = current.get(), hub.who(), within.get()
        if call.scope._batches is None:
            call.scope.expect_batches()
        if get_ident() == hub.thread:
            call.future = hub.loop.create_future()
            self._add(call)
            return call.future
        if is_async_code():  # on a loop of the model
            later = asyncio.run_coroutine_threadsafe(self._later(call), hub.loop)
            return asyncio.wrap_future(later)
        call.future = waiting = ThreadFuture()
        self._inbox.append(call)
        if len(self._inbox) >= self._needed:
            hub.loop.call_soon_threadsafe(self._receive)
        return waiting.wait()

    def calls_method(self, other: Batcher) -> bool:
        """Return whether batches of this method wait for those of another, or it is this one."""
        return other is self or any(each.calls_method(other) for each in list(self.called))

    async def _later(self, call: Call) -> Any:
        call.future = self.hub.loop.create_future()
        self._add(call)
        return await call.future

    def _gather(self) -> None:
        """Let the loop sleep until the callers of the last batch are back: each wake-up costs."""
        if self._gathers and len(self.expected) > 1:
            self._needed = len(self.expected)
            if self._late is None:
                self._arm(self._return_wait() / 1e9)

    def _arm(self, seconds: float) -> None:
        self._late = self.hub.loop.call_later(seconds, self._receive_late, context=self.hub.context)

    def _receive_late(self) -> None:
        self._late = None
        left = self._ended + self._return_wait() - perf_counter_ns()
        if self._needed > 1 and left > 0:
            self._arm(left / 1e9)
            return
        if self._needed > 1:
            self._needed = 1
            self._arm(self._return_wait() / 1e9)  # once more, for what came meanwhile
        self._receive()

    def _receive(self) -> None:
        """Add what threads have called."""
        inbox = self._inbox
        while inbox:
            self._add(inbox.popleft())
            self._needed = max(1, min(self._needed, len(self.expected)))

    def forget(self, caller: Caller) -> None:
        """Take note that a caller of the last batch does not come back."""
        self.expected.discard(caller)
        self._needed = max(1, min(self._needed, len(self.expected)))
        if len(self._inbox) >= self._needed:
            self._receive()
        if not self.expected:
            self.soon()

    def _add(self, call: Call) -> None:
        hub = self.hub
        call.caller = caller = hub.caller(call.owner)
        full, came_back = self._calls.add(call), False
        if caller is not None:
            came_back = self._came_back(caller)
            caller.waiting += 1
            if caller.waiting == 1:
                hub.blocked += 1
                hub.hurry()
        if self._free:
            if full or (came_back and not self.expected):
                self._leave()
            else:
                self.soon()

    def _came_back(self, caller: Caller) -> bool:
        """Take note of a call; return whether its prediction has followed all its last results."""
        batcher = caller.last
        if batcher is None:
            return False
        if batcher is self:
            caller.owed -= 1
            if caller.owed > 0:
                return False
        caller.last, caller.owed = None, 0
        if batcher is not self:
            batcher.forget(caller)
            return False
        self.expected.discard(caller)
        return True

    def soon(self) -> None:
        """Decide in one turn of the loop whether a batch leaves."""
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
        if hub.blocked < hub.running:
            delay = self._deadline() - perf_counter_ns()
            if delay > _LEAST_WAIT:
                hub.delayed.add(self)
                self._timer = hub.loop.call_later(delay / 1e9, self._decide, context=hub.context)
                return
        self._leave()

    def _deadline(self) -> int:
        """Return when the calls that wait leave, at the latest."""
        if self._limit is not None:
            return self._calls.oldest() + self._limit
        if any(not caller.waiting for caller in self.expected):
            return self._ended + self._return_wait()
        return 0

    def _return_wait(self) -> int:
        return min(max(self._took // _PART, self.hub.least_wait), _MOST_WAIT)

    def _leave(self) -> None:
        """Give the method its next batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.hub.delayed.discard(self)
        calls = self._calls.take()
        while self._calls.dropped:
            self._settle(self._calls.dropped.pop(), None)
        if not calls:
            return
        self._free -= 1
        self.expected.clear()
        self._needed = 1
        for taken in calls:
            taken.scope.count_batch(self.__name__, len(calls))
        self._run(Batch(self, calls))
        self.soon()

    def _run(self, batch: Batch) -> None:
        batch.part = part = batch.parts.pop()
        arguments = self._plan.arguments([call.values for call in part], part[0].key)

        def call() -> Any:
            return self._function(self._instance, **arguments)

        if self._threads is not None:
            self._threads.put(batch, call)
        else:
            task = batch.context.run(self.hub.loop.create_task, self._await(batch, call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard, context=self.hub.context)

    async def _await(self, batch: Batch, call: Any) -> None:
        result, raised = None, None
        try:
            result = await call()
        except BaseException as error:
            raised = error
        if _px.is_child():
            _px.exit_child(raised)
        self.hub.context.run(batch.end, result, raised)

    def take(self, batch: Batch, result: Any, raised: BaseException | None) -> None:
        """Give the calls of a part their results, and run the next part if there is one."""
        part = batch.part
        elements: Any = ()
        if raised is None:
            try:
                elements = self._rules.elements(result, len(part))
            except BaseException as error:
                raised = error
        if raised is not None:
            halves = self._rules.halves([c for c in part if not c.future.done()], raised)
            if halves is not None:
                batch.parts += halves
                self._run(batch)
                return
            batch.error = raised
            elements = [raised] * len(part)
        if batch.owner is not None and self.hub.router is not None:
            self.hub.router.flush(batch.owner)
        for call, element in zip(part, elements, strict=True):
            self._settle(call, element)
        if batch.parts:
            self._run(batch)
            return
        if batch.owner is not None and self.hub.router is not None:
            self.hub.router.end(batch.owner)
        self._ended = perf_counter_ns()
        self._took = self._ended - batch.began
        self._report(batch)
        batch.finish()
        self._free += 1
        self._gather()
        self.soon()  # after one step of each task that has its result now

    def _report(self, batch: Batch) -> None:
        name, size, report = self.__name__, len(batch.calls), self.hub.report
        if batch.trace is not None and batch.trace.sampled:
            report.add_span(name, size, self._took, batch.trace, batch.error)
        report.add(name, size, batch.began - batch.calls[0].since, self._took)

    def _settle(self, call: Call, element: Any) -> None:
        caller, future = call.caller, call.future
        if caller is not None and caller.waiting:
            caller.waiting -= 1
            if not caller.waiting:
                self.hub.blocked -= 1
            if not future.done():
                if caller.last is not self:
                    if caller.last is not None:
                        caller.last.forget(caller)
                    caller.last, caller.owed = self, 0
                caller.owed += 1
                self.expected.add(caller)
        if future.done():
            return  # it was canceled
        if isinstance(element, BaseException):
            if isinstance(element, StopIteration):
                wrapped = RuntimeError(f"{self.name} raised StopIteration")
                wrapped.__cause__ = element
                element = wrapped
            future.set_exception(element)
        else:
            future.set_result(element)
