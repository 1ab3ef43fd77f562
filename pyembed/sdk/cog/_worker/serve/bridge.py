"""Calling an async function from synchronous code, on a separate loop."""

from __future__ import annotations

import asyncio

from ...exceptions import CancelationException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

_END = object()


class Bridge:
    """An async function. A cancel cancels its task and waits for the task's end."""

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
        if hasattr(iterator, "athrow"):  # it came between two items: raise it in the model
            _complete(loop, interrupt())
        raise


def _complete(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]) -> Any:
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except CancelationException:
        if not task.done():  # the loop was waiting: cancel the task
            task.cancel()
            loop.run_until_complete(asyncio.wait({task}))
        raise


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what remains on a loop, as asyncio.run does."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
