"""Calling an async function from synchronous code, on a loop of its own."""

from __future__ import annotations

import asyncio

from ..exceptions import CancelationException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

_END = object()


class Bridge:
    """An async function: a cancel cancels its task, and the task's own end is waited for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def run(self, **inputs: Any) -> Any:
        """Call a function that returns a coroutine, whose output may be an iterator."""
        loop = asyncio.new_event_loop()
        try:
            output = _complete(loop, self._function(**inputs))
            if hasattr(output, "__aiter__"):
                return list(_items(loop, output))
            return output
        finally:
            _close(loop)

    def iterate(self, **inputs: Any) -> Iterator[Any]:
        """Call a function that returns an async iterator."""
        loop = asyncio.new_event_loop()
        try:
            yield from _items(loop, self._function(**inputs))
        finally:
            _close(loop)


def _items(loop: asyncio.AbstractEventLoop, iterable: Any) -> Iterator[Any]:
    iterator = iterable.__aiter__()

    async def following() -> Any:
        async for item in iterator:
            return item
        return _END

    async def interrupt() -> None:
        try:
            await iterator.athrow(asyncio.CancelledError())
        except (asyncio.CancelledError, StopAsyncIteration):
            pass

    try:
        while (item := _complete(loop, following())) is not _END:
            yield item
    except CancelationException:
        if hasattr(iterator, "athrow"):  # it came between two items: the model does not know yet
            _complete(loop, interrupt())
        raise


def _complete(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]) -> Any:
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except CancelationException:
        if not task.done():  # the loop was waiting: the task does not know yet
            task.cancel()
            loop.run_until_complete(asyncio.wait({task}))
        raise


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """End what is left on a loop, as asyncio.run does."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
