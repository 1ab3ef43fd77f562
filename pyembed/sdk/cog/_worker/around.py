"""Running preprocess and postprocess: in threads, each call for one item alone."""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from threading import Thread
from time import perf_counter_ns

import _px

from .logs import Router, follow_threads
from .scope import Scope, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .batching import Plan
    from .held import Held
    from .rides import Function, Item


class Around:
    """The threads, and what they have to do: answers first, for somebody waits for each of them."""

    def __init__(self, plan: Plan, function: Function, router: Router | None) -> None:
        self._plan = plan
        self._function = function
        self._router = router or Router()
        self._installed = router is not None  # by its owner
        self._before: deque[tuple[Held, Item]] = deque()
        self._after: deque[tuple[Held, Item, int, dict[str, Any]]] = deque()
        self._tokens: SimpleQueue[bool] = SimpleQueue()  # one for each thing to do; False: leave
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Start the threads."""
        if not self._installed:
            self._router.install()
        follow_threads()
        for number in range(self._plan.options.workers):
            thread = Thread(target=self._run, name=f"batch-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish(self) -> None:
        """Wait until all is done, and end the threads."""
        for _ in self._threads:
            self._tokens.put(False)
        for thread in self._threads:
            thread.join()

    def prepare(self, held: Held, item: Item) -> None:
        """Have an item preprocessed."""
        self._before.append((held, item))
        self._tokens.put(True)

    def complete(self, held: Held, item: Item, nanos: int, metrics: dict[str, Any]) -> None:
        """Have an item postprocessed and answered."""
        self._after.append((held, item, nanos, metrics))
        self._tokens.put(True)

    def _run(self) -> None:
        from .entry import abort

        try:
            while self._tokens.get():
                # As many wait as there are tokens, so that one of the two is not empty.
                try:
                    last = self._after.popleft()
                except IndexError:
                    self._prepare_one(*self._before.popleft())
                else:
                    self._complete_one(*last)
        except BaseException as error:
            abort(error)  # an item has lost its answer

    def _prepare_one(self, held: Held, item: Item) -> None:
        began = perf_counter_ns()
        if not item.dropped:
            self._function.read(item)
            if item.error is None:
                item.inputs = self._call(item, self._plan.preprocess, **item.inputs)
        if held.prepared(item):
            item.answer(perf_counter_ns() - began, None)
            _px.flush(held.slot)

    def _complete_one(self, held: Held, item: Item, nanos: int, metrics: dict[str, Any]) -> None:
        if not item.dropped:
            item.value = self._call(item, self._plan.postprocess, item.value)
        held.answer(item, nanos, metrics)
        _px.flush(held.slot)

    def _call(
        self, item: Item, function: Callable[..., Any] | None, *args: Any, **named: Any
    ) -> Any:
        """Call a function of the model's for an item, in its scope and with its log."""
        if function is None:
            return None
        if item.scope is None:
            item.scope = Scope(item.message.get("context"))
            if item.told:
                item.scope.hook = item.tell
        who = (item.slot, item.id)
        self._router.begin(who)
        value = raised = None
        try:
            value = within(item.scope, function, *args, **named)
        except BaseException as error:
            item.error = raised = error
        if _px.is_child():
            _px.leave_child(raised)
        self._router.end(who)
        return value
