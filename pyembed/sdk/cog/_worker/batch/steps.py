"""Batches of the methods that predictions call, formed between their steps.

`loopbatches.py` runs them for predictions on a loop, `threadbatches.py` for those on threads.
"""

from __future__ import annotations

from time import perf_counter_ns

import _px

from ..logs.router import owner
from ..scope import Scope, current
from .method import LocalMethod
from .methodthreads import within
from .report import trace_of
from .rules import CallRules
from .waiting import Call, WaitingCalls

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
        self._parts = [calls]  # to be run, the last first
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
        self._next_part()

    def _next_part(self) -> None:
        self.part = self._parts.pop()

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

    def call(self) -> Any:
        """Call the method for the part that is due."""
        return self._batcher.call_method(self.part)

    def take(self, result: Any, raised: BaseException | None) -> bool:
        """Take the outcome of a part; return whether it was the last one."""
        batcher, part = self._batcher, self.part
        elements: Any = ()
        if raised is None:
            try:
                elements = batcher.rules.elements(result, len(part))
            except BaseException as error:
                raised = error
        if raised is not None:
            halves = batcher.rules.halves([c for c in part if not c.future.done()], raised)
            if halves is not None:
                self._parts += halves
                self._next_part()
                return False
            self.error = raised
            elements = [raised] * len(part)
        router = batcher.hub.router if self.owner is not None else None
        if router is not None:
            router.flush(self.owner)
        for call, element in zip(part, elements, strict=True):
            batcher.settle(call, element)
        if self._parts:
            self._next_part()
            return False
        if router is not None:
            router.end(self.owner)
        return True


class Batcher:
    """A batched method of one object: what predictions call. It decides what a batch has."""

    def __init__(self, hub: StepHub, plan: MethodPlan, instance: Any) -> None:
        options = plan.options
        self.hub = hub
        self.plan = plan
        self._function = (
            plan.method.function if hub.follow is None else hub.follow(plan.method.function)
        )
        self._instance = instance
        self.rules = CallRules(options.isolate)
        self._calls = WaitingCalls(options.max_size, options.max_cost)
        self._limit = None if options.max_wait_ms is None else int(options.max_wait_ms * 1e6)
        self._ended = 0  # when the last call ended, and what it took
        self._took = 0
        self.expected: set[Caller] = set()  # of the last call, that may come back
        self.called: set[Batcher] = set()  # by batches of this method
        self.name: str = plan.name
        self.__wrapped__ = plan.method.function
        self.__name__: str = vars(plan.method)["__name__"]
        self.__doc__ = plan.method.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the result for one item, or an awaitable of it in async code."""
        if _px.is_child():  # which has no threads and no loop
            return LocalMethod(self.plan, self._instance, forked=True)(*args, **named)
        batches = within.get()
        for batch in batches:
            batch.calls_method(self)
        values, key = self.plan.bind(*args, **named)
        call = Call(values, key, self.plan.cost(values), perf_counter_ns())
        call.scope, call.owner, call.within = current.get(), self.hub.who(), batches
        if call.scope._batches is None:
            call.scope.expect_batches()
        return self._wait(call)

    def _wait(self, call: Call) -> Any:
        """Have a call join a batch; return its result, or an awaitable of it."""
        raise NotImplementedError

    def soon(self) -> None:
        """Soon decide again whether a batch leaves."""
        raise NotImplementedError

    def calls_method(self, other: Batcher) -> bool:
        """Return whether batches of this method wait for those of another, or it is this one."""
        return other is self or any(each.calls_method(other) for each in list(self.called))

    def call_method(self, calls: list[Call]) -> Any:
        """Call the method itself, for calls with equal keys."""
        arguments = self.plan.arguments([call.values for call in calls], calls[0].key)
        return self._function(self._instance, **arguments)

    def forget(self, caller: Caller) -> None:
        """Take note that a caller of the last batch does not come back."""
        self.expected.discard(caller)
        if not self.expected:
            self.soon()

    def _add(self, call: Call) -> bool:
        """Add a call to those that wait; return whether a batch need not wait for more."""
        hub = self.hub
        call.caller = caller = hub.caller(call.owner)
        full, came_back = self._calls.add(call), False
        if caller is not None:
            came_back = self._came_back(caller)
            caller.waiting += 1
            if caller.waiting == 1:
                hub.blocked += 1
                hub.hurry()
        return full or (came_back and not self.expected)

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

    def _delay(self) -> int:
        """Return for how many ns the calls that wait should wait for others. 0: not at all."""
        if self.hub.blocked >= self.hub.running or self._calls.is_full():
            return 0
        if self._limit is not None:
            until = self._calls.oldest() + self._limit
        elif any(not caller.waiting for caller in self.expected):
            until = self._ended + self._return_wait()
        else:
            return 0
        delay = until - perf_counter_ns()
        return delay if delay > _LEAST_WAIT else 0

    def _return_wait(self) -> int:
        return min(max(self._took // _PART, self.hub.least_wait), _MOST_WAIT)

    def _take(self) -> Batch | None:
        """Return the next batch; None if the callers of all calls have gone."""
        calls = self._calls.take()
        while self._calls.dropped:
            self.settle(self._calls.dropped.pop(), None)
        if not calls:
            return None
        self.expected.clear()
        for taken in calls:
            taken.scope.count_batch(self.__name__, len(calls))
        return Batch(self, calls)

    def _finish(self, batch: Batch) -> None:
        """Take note that a batch has ended."""
        self._ended = perf_counter_ns()
        self._took = took = self._ended - batch.began
        name, size, report = self.__name__, len(batch.calls), self.hub.report
        if batch.trace is not None and batch.trace.sampled:
            report.add_span(name, size, took, batch.trace, batch.error)
        if report.add(name, size, batch.began - batch.calls[0].since, took):
            self.hub.report_later()
        batch.finish()

    def settle(self, call: Call, element: Any) -> None:
        """Give a call its result, which an exception raises."""
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
