"""The threads that run a synchronous batched method."""

from __future__ import annotations

from _queue import SimpleQueue
from contextvars import ContextVar, copy_context

import _px

from ..logs.router import owner
from ..primitives import block_signals, start
from ..scope import INACTIVE, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextvars import Context
    from typing import Any

    from .steps import Batch

# The batches in which this code runs, the inner ones last.
within: ContextVar[tuple[Batch, ...]] = ContextVar("within", default=())


class Threads:
    """The threads of one method, and its batches that wait for one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self._loop = loop
        self._count = count
        self._inbox: SimpleQueue[tuple[Batch, Any] | None] = SimpleQueue()
        self._started = 0

    def put(self, batch: Batch, end: Any) -> None:
        """Run what is due of a batch on a thread; the loop then calls end with the outcome."""
        try:
            while self._started < self._count:
                start_unowned(self._run, self._started)
                self._started += 1
        except RuntimeError:  # the system has no more; one is enough, the next batch tries again
            if not self._started:
                raise
        self._inbox.put((batch, end))

    def end(self) -> None:
        """Let the threads end."""
        for _ in range(self._started):
            self._inbox.put(None)

    def _run(self) -> None:
        block_signals()
        while (work := self._inbox.get()) is not None:
            batch, end = work
            try:
                self._loop.call_soon_threadsafe(end, batch, *run_part(batch))
            except RuntimeError:
                return  # the loop is closed
            del work, batch, end


def run_part(batch: Batch) -> tuple[Any, BaseException | None]:
    """Run what is due of a batch; return its result, or what it raised."""
    result, raised = None, None
    before = _px.set_thread_owner(batch.thread_owner)
    try:
        result = batch.context.run(batch.call)
    except BaseException as error:
        raised = error
    _px.set_thread_owner(before)
    if _px.is_child():
        _px.exit_child(raised)
    return result, raised


def start_unowned(run: Callable[[], None], name: str | int) -> None:
    """Start a thread that belongs to no prediction."""
    batch_context().run(start, run, f"batch-{name}")


def batch_context() -> Context:
    """Return a copy of this context that belongs to no prediction."""
    context = copy_context()
    context.run(current.set, INACTIVE)
    context.run(owner.set, None)
    context.run(within.set, ())
    return context
