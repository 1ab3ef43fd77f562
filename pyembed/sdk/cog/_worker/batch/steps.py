"""Batches of the methods that predictions call, formed between their steps.

`loopbatches.py` runs them for predictions on a loop, `threadbatches.py` for those on threads.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns

import _px

from ..logs.router import owner
from ..scope import Scope, current
from .futures import settle
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

# The adaptive wait for the callers of the last batch: at most this many ns, and at most the batch's
# duration divided by this.
_MAX_WAIT = 5_000_000
_WAIT_DIVISOR = 10
_MIN_DELAY = 50_000  # a shorter delay is not worth a timer


class SharedScope(Scope):
    """The scope of a call for several predictions: a metric is recorded for each."""

    def __init__(self, scopes: list[Scope], trace: BatchTrace | None) -> None:
        super().__init__(None if trace is None else {"traceparent": trace.parent})
        self._scopes = scopes

    @property
    def context(self) -> dict[str, str]:
        """What the contexts of all the predictions have in common."""
        first, *others = [scope.context for scope in self._scopes]
        common = {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}
        return {**common, **(self._context or {})}

    def record_metric(self, key: str, value: Any, mode: str | None = "replace") -> None:
        """Record a metric of all the predictions."""
        for scope in self._scopes:
            scope.record_metric(key, value, mode)

    def delete_metric(self, key: str) -> None:
        """Delete a metric of all the predictions."""
        for scope in self._scopes:
            scope.delete_metric(key)

    def count_batch(self, method: str, size: int) -> None:
        """Count a batch that contains a call of this batch, for all its predictions."""
        for scope in self._scopes:
            scope.count_batch(method, size)


class Batch:
    """The calls of one batch, until all have their results."""

    def __init__(self, batcher: Batcher, calls: list[Call]) -> None:
        self._batcher = batcher
        self.calls = calls
        self._parts = [calls]  # to run, the last first
        self.running = True
        self.began = perf_counter_ns()
        self.thread_owner = _px.thread_owner()
        self.context: Any = batcher.hub.context.copy()
        self.error: BaseException | None = None  # raised by the last failed part
        self.trace: BatchTrace | None = None
        scopes = list(dict.fromkeys(call.scope for call in calls))
        if batcher.hub.follow is not None:
            self.trace = trace_of([scope._context for scope in scopes])
        single = len(scopes) == 1 and self.trace is None
        self.context.run(current.set, scopes[0] if single else SharedScope(scopes, self.trace))
        self.owner: Any = None
        router = batcher.hub.router
        if router is not None:
            owners = [key for key in dict.fromkeys(call.owner for call in calls) if key is not None]
            if len(owners) == 1:
                self.context.run(owner.set, owners[0])
            elif owners:
                self.owner = tuple(owners)
                self.context.run(router.begin, self.owner)
        enclosing = dict.fromkeys(batch for call in calls for batch in call.within)
        self.context.run(within.set, (*enclosing, self))
        self._next_part()

    def _next_part(self) -> None:
        self.part = self._parts.pop()

    def finish(self) -> None:
        """Drop what the model's threads, whose contexts refer to this batch, do not need."""
        self.running = False
        self.calls = self.part = []
        self.context = None  # it refers to this batch

    def record_call(self, called: Batcher) -> None:
        """Record a call made in this batch; raise if each method could wait for the other."""
        if not self.running:
            return
        if called.depends_on(self._batcher):
            raise RuntimeError(
                f"{called.name} is called in a batch of {self._batcher.name}, which is a deadlock; "
                "call a method without @batch there"
            )
        self._batcher.called.add(called)

    def call(self) -> Any:
        """Call the method for the current part."""
        return self._batcher.call_method(self.part)

    def accept(self, result: Any, raised: BaseException | None) -> bool:
        """Accept the outcome of a part; return whether it was the last one."""
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
            batcher.resolve(call, element)
        if self._parts:
            self._next_part()
            return False
        if router is not None:
            router.end(self.owner)
        return True


class Batcher:
    """A batched method of one object, which predictions call. It forms the batches.

    A call joins by the inbox, and nothing else changes in the code of its prediction: a cancel may
    interrupt that anywhere.
    """

    def __init__(self, hub: StepHub, plan: MethodPlan, instance: Any) -> None:
        options = plan.options
        self.hub = hub
        self.plan = plan
        self._function = (
            plan.method.function if hub.follow is None else hub.follow(plan.method.function)
        )
        self._instance = instance
        self.rules = CallRules(options.isolate)
        self._inbox: deque[Call] = deque()  # calls that have not joined yet
        self._calls = WaitingCalls(options.max_size, options.max_cost)
        self._ready = False  # a batch can start without waiting for more
        self._limit = None if options.max_wait_ms is None else int(options.max_wait_ms * 1e6)
        self._ended_at = 0  # of the last batch
        self._duration = 0
        self.expected: set[Caller] = set()  # of the last batch, who may call again
        self.called: set[Batcher] = set()  # batchers that batches of this method call
        self.name: str = plan.name
        self.__wrapped__ = plan.method.function
        self.__name__: str = vars(plan.method)["__name__"]
        self.__doc__ = plan.method.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the result for one item, or an awaitable of it in async code."""
        if _px.is_child():  # a fork has no threads and no loop
            return LocalMethod(self.plan, self._instance, forked=True)(*args, **named)
        batches = within.get()
        for batch in batches:
            batch.record_call(self)
        values, key = self.plan.bind(*args, **named)
        call = Call(values, key, self.plan.cost(values), perf_counter_ns())
        call.scope, call.owner, call.within = current.get(), self.hub.current_owner(), batches
        if call.scope._batches is None:
            call.scope.expect_batches()
        return self._wait(call)

    def _wait(self, call: Call) -> Any:
        """Add a call to a batch; return its result, or an awaitable of it."""
        raise NotImplementedError

    def schedule(self) -> None:
        """Schedule a decision on whether to start a batch."""
        raise NotImplementedError

    def depends_on(self, other: Batcher) -> bool:
        """Return whether batches of this method wait for those of other, which may be this one."""
        return other is self or any(each.depends_on(other) for each in list(self.called))

    def call_method(self, calls: list[Call]) -> Any:
        """Call the method itself, for calls with equal keys."""
        arguments = self.plan.arguments([call.values for call in calls], calls[0].key)
        return self._function(self._instance, **arguments)

    def forget(self, caller: Caller) -> None:
        """Stop expecting a caller of the last batch."""
        self.expected.discard(caller)
        if not self.expected:
            self.schedule()

    def _drain_inbox(self) -> None:
        """Let the calls in the inbox join. One whose key cannot be compared fails alone."""
        inbox = self._inbox
        if not inbox:
            return
        while inbox:
            call = inbox.popleft()
            try:
                self._calls.add(call)
            except BaseException as error:
                if not call.future.done():
                    settle(call.future, error, self.name)
                continue
            call.caller = caller = self.hub.caller(call.owner)
            if caller is not None:
                if self._note_return(caller) and not self.expected:
                    self._ready = True
                caller.calls.add(call)
        self.hub.release_delays()

    def _note_return(self, caller: Caller) -> bool:
        """Note a call; return whether its prediction has now made all the expected calls."""
        batcher = caller.last
        if batcher is None:
            return False
        if batcher is self:
            caller.expected_calls -= 1
            if caller.expected_calls > 0:
                return False
        caller.last, caller.expected_calls = None, 0
        if batcher is not self:
            batcher.forget(caller)
            return False
        self.expected.discard(caller)
        return True

    def _delay(self) -> int:
        """Return for how many ns the pending calls should wait for others; 0 means not at all."""
        if self._ready or self.hub.all_wait() or self._calls.is_full():
            return 0
        if self._limit is not None:
            until = self._calls.oldest() + self._limit
        elif any(not caller.calls for caller in self.expected):
            until = self._ended_at + self._return_wait()
        else:
            return 0
        delay = until - perf_counter_ns()
        return delay if delay > _MIN_DELAY else 0

    def _return_wait(self) -> int:
        return min(max(self._duration // _WAIT_DIVISOR, self.hub.min_wait), _MAX_WAIT)

    def _next_batch(self) -> Batch | None:
        """Return the next batch, or None if no caller waits any more."""
        self._ready = False
        calls = self._calls.take()
        while self._calls.dropped:
            self.resolve(self._calls.dropped.pop(), None)
        if not calls:
            return None
        self.expected.clear()
        for taken in calls:
            taken.scope.count_batch(self.__name__, len(calls))
        return Batch(self, calls)

    def _finish(self, batch: Batch) -> None:
        """Record that a batch has ended."""
        self._ended_at = perf_counter_ns()
        self._duration = took = self._ended_at - batch.began
        name, size, report = self.__name__, len(batch.calls), self.hub.report
        if batch.trace is not None and batch.trace.sampled:
            report.add_span(name, size, took, batch.trace, batch.error)
        if report.add(name, size, batch.began - batch.calls[0].since, took):
            self.hub.schedule_report()
        batch.finish()

    def resolve(self, call: Call, element: Any) -> None:
        """Give a call its result, which an exception raises."""
        caller, future = call.caller, call.future
        if caller is not None and call in caller.calls:
            caller.calls.discard(call)
            if not future.done():
                if caller.last is not self:
                    if caller.last is not None:
                        caller.last.forget(caller)
                    caller.last, caller.expected_calls = self, 0
                caller.expected_calls += 1
                self.expected.add(caller)
        if not future.done():  # else it was canceled
            settle(future, element, self.name)
