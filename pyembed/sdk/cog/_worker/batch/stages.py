"""Running preprocess and postprocess in threads, one call for each item."""

from __future__ import annotations

from _queue import SimpleQueue
from collections import deque
from time import perf_counter_ns

import _px

from .. import primitives
from ..logs.router import Router
from ..scope import Scope, within
from ..serve.wire import STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .items import Batch, Function, Item
    from .pending import PendingItems
    from .plan import Plan


class Stages:
    """The threads and their work. Postprocess goes first: it completes answers."""

    def __init__(self, plan: Plan, function: Function, router: Router | None) -> None:
        self._workers = plan.options.workers
        self._preprocess = plan.preprocess
        self._postprocess = plan.postprocess
        self._function = function
        self._router = router or Router()
        self._installed = router is not None  # by its owner
        self._before: deque[tuple[PendingItems, Item]] = deque()
        self._after: deque[tuple[PendingItems, Item, int, dict[str, Any]]] = deque()
        self._tokens: SimpleQueue[bool] = SimpleQueue()  # one for each task; False ends a thread
        self._ended: SimpleQueue[bool] = SimpleQueue()  # one for each thread

    def trace(self, follow: Callable[..., Any]) -> None:
        """Run preprocess and postprocess in the contexts of their items."""
        if self._preprocess is not None:
            self._preprocess = follow(self._preprocess)
        if self._postprocess is not None:
            self._postprocess = follow(self._postprocess)

    def start(self) -> None:
        """Start the threads."""
        if not self._installed:
            self._router.install()
        for number in range(self._workers):
            primitives.start(self._run, f"batch-{number}")

    def finish(self) -> None:
        """Finish all work and end the threads."""
        for _ in range(self._workers):
            self._tokens.put(False)
        for _ in range(self._workers):
            self._ended.get()

    def prepare(self, pending: PendingItems, item: Item) -> None:
        """Queue an item for preprocess."""
        self._before.append((pending, item))
        self._tokens.put(True)

    def answer_all(self, pending: PendingItems, batch: Batch) -> None:
        """Answer the items of a batch, those with a result after their postprocess."""
        if self._postprocess is None:
            pending.answer_all(batch)
            return
        metrics = batch.metrics()
        for item in batch.take_items():
            if item.is_fine():
                self._after.append((pending, item, batch.nanos, metrics))
                self._tokens.put(True)
            else:
                pending.answer(item, batch.nanos, metrics)

    def _run(self) -> None:
        from ..errors import abort

        try:
            while self._tokens.get():
                # There are as many tokens as entries, so one of the two deques is not empty.
                try:
                    last = self._after.popleft()
                except IndexError:
                    last = None
                # Not in the handler: IndexError would be the context of what the model raises.
                if last is None:
                    self._prepare_one(*self._before.popleft())
                else:
                    self._complete_one(*last)
            self._ended.put(True)
        except BaseException as error:
            abort(error)  # an item would never be answered

    def _prepare_one(self, pending: PendingItems, item: Item) -> None:
        began = perf_counter_ns()
        if not item.dropped:
            self._function.read(item)
            if item.error is None:
                if item.observed and self._preprocess is not None:
                    _px.emit_item(item.slot, item.id, STARTED, None)
                item.inputs = self._call(item, self._preprocess, **item.inputs)
        if pending.prepared(item):
            item.answer(perf_counter_ns() - began, None)
            _px.flush(pending.slot)

    def _complete_one(
        self, pending: PendingItems, item: Item, nanos: int, metrics: dict[str, Any]
    ) -> None:
        if not item.dropped:
            item.value = self._call(item, self._postprocess, item.value)
        pending.answer(item, nanos, metrics)
        _px.flush(pending.slot)

    def _call(
        self, item: Item, function: Callable[..., Any] | None, *args: Any, **named: Any
    ) -> Any:
        """Call a function of the model's for an item, in its scope and with its log."""
        if function is None:
            return None
        if item.scope is None:
            item.scope = Scope(item.message.get("context"))
            item.scope.owner = (item.slot, item.id)
            if item.observed:
                item.scope.hook = item.emit_metric
        who = (item.slot, item.id)
        self._router.begin(who)
        value = raised = None
        try:
            value = within(item.scope, function, *args, **named)
        except BaseException as error:
            item.error = raised = error
        if _px.is_child():
            _px.exit_child(raised)
        self._router.end(who)
        return value
