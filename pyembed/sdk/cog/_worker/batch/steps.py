"""Batches of the methods that predictions call, formed between their steps.

All of this runs on the loop, except `Batcher.__call__` and `Threads._run`.
"""

from __future__ import annotations

import asyncio
from _queue import SimpleQueue
from contextvars import ContextVar, copy_context
from time import perf_counter_ns

import _px

from ..logs.router import owner
from ..primitives import block_signals, get_ident, start
from ..scope import INACTIVE, Scope, current
from .method import LocalMethod, is_async_code
from .report import trace_of
from .rules import CallRules
from .waiting import Call, ThreadFuture, WaitingCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Context
    from typing import Any

    from .hub import Caller, StepHub
    from .method import MethodPlan
    from .report import BatchTrace

# The adaptive wait for the items of the last call, in ns: at most this, and this part of its time.
_MOST_WAIT = 5_000_000
_PART = 10
_LEAST_WAIT = 50_000  # a shorter one is not worth a timer

# The batches in which this code runs, the inner ones last.
_within: ContextVar[tuple[Batch, ...]] = ContextVar("within", default=())


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


class Threads:
    """The threads of one method, and its batches that wait for one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self._loop = loop
        self._count = count
        self._inbox: SimpleQueue[tuple[Batch, Any] | None] = SimpleQueue()
        self._started = False

    def put(self, batch: Batch, call: Any) -> None:
        """Have a thread run a batch."""
        if not self._started:
            self._started = True
            for number in range(self._count):
                self.start(number)
        self._inbox.put((batch, call))

    def start(self, number: int) -> None:
        """Start a thread that belongs to no prediction."""
        context = batch_context()
        context.run(start, self._run, f"batch-{number}")

    def end(self) -> None:
        """Let the threads end."""
        if self._started:
            for _ in range(self._count):
                self._inbox.put(None)

    def _run(self) -> None:
        block_signals()
        while (work := self._inbox.get()) is not None:
            batch, call = work
            result, raised = None, None
            before = _px.set_thread_owner(batch.thread_owner)
            try:
                result = batch.context.run(call)
            except BaseException as error:
                raised = error
            _px.set_thread_owner(before)
            if _px.is_child():
                _px.exit_child(raised)
            try:
                self._loop.call_soon_threadsafe(batch.end, result, raised)
            except RuntimeError:
                return  # the loop is closed
            del work, batch, call, result, raised


def batch_context() -> Context:
    """Return a copy of this context that belongs to no prediction."""
    context = copy_context()
    context.run(current.set, INACTIVE)
    context.run(owner.set, None)
    context.run(_within.set, ())
    return context


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
        self.context.run(_within.set, (*around, self))

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
        for batch in _within.get():
            batch.calls_method(self)
        values, key = self._plan.bind(*args, **named)
        call = Call(values, key, self._plan.cost(values), perf_counter_ns())
        if get_ident() == hub.thread:
            call.future = hub.loop.create_future()
            self._add(call)
            return call.future
        if is_async_code():  # on a loop of the model
            later = asyncio.run_coroutine_threadsafe(self._later(call), hub.loop)
            return asyncio.wrap_future(later)
        call.future = waiting = ThreadFuture()
        hub.loop.call_soon_threadsafe(self._add, call)
        return waiting.wait()

    def calls_method(self, other: Batcher) -> bool:
        """Return whether batches of this method wait for those of another, or it is this one."""
        return other is self or any(each.calls_method(other) for each in list(self.called))

    async def _later(self, call: Call) -> Any:
        call.future = self.hub.loop.create_future()
        self._add(call)
        return await call.future

    def _add(self, call: Call) -> None:
        hub = self.hub
        call.scope, call.within = current.get(), _within.get()
        call.owner = who = hub.who()
        call.caller = caller = hub.caller(who)
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
        batcher.expected.discard(caller)
        if batcher is not self and not batcher.expected:
            batcher.soon()
        return batcher is self

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
            wait = max(self._took // _PART, self.hub.least_wait)
            return self._ended + min(wait, _MOST_WAIT)
        return 0

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
                        caller.last.expected.discard(caller)
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
