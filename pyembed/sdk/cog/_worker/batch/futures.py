"""Futures for calls of batched methods from code outside our event loop."""

from __future__ import annotations

import _px

from ..errors import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any


def settle(future: Any, element: Any, name: str) -> None:
    """Give a call of a method its result, which an exception raises. It may be of any type.

    Unlike `isinstance`, a look at its type runs no code of the model.
    """
    kind = type(element)
    if not issubclass(kind, BaseException):
        future.set_result(element)
        return
    try:
        if isinstance(element, StopIteration):  # asks the exception itself, as asyncio will
            wrapped = RuntimeError(f"{name} raised StopIteration")
            wrapped.__cause__ = element
            element = wrapped
        future.set_exception(element)
    except BaseException as error:
        future.set_exception(
            RuntimeError(
                f"{name} raised {kind.__qualname__}, which fails itself: {one_line(error)}"
            )
        )


class ThreadFuture:
    """The result of a call that a thread waits for. A cancel of its prediction ends the wait.

    waiter  the thread's; wake is called with it once there is a result
    """

    __slots__ = ("_done", "_error", "_result", "_traceback", "_wake", "waiter")

    def __init__(self, wake: Callable[[Any], object]) -> None:
        self.waiter = _px.waiter()
        self._wake = wake
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Return whether there is a result, or the thread no longer waits."""
        return self._done

    def set_result(self, result: Any) -> None:
        """Set the result and notify the thread."""
        self._result = result
        self._done = True
        self._wake(self.waiter)

    def set_exception(self, error: BaseException) -> None:
        """Set the error, which the thread raises, and notify the thread."""
        self._traceback = error.__traceback__  # other threads may add their frames
        self._error = error
        self._done = True
        self._wake(self.waiter)

    def wait(self, wake: list[Any]) -> Any:
        """Wake other waiters, then wait; return the result or raise the error."""
        try:
            _px.wait(self.waiter, None, wake)
        except BaseException:
            self._done = True
            raise
        if self._error is None:
            return self._result
        try:
            raise BaseException.with_traceback(self._error, self._traceback)
        finally:
            self._error = None  # its traceback refers to this frame


class LoopFuture:
    """The result of a call that a task on a loop of the model waits for, in another thread."""

    __slots__ = ("_loop", "future")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()

    def done(self) -> bool:
        """Return whether there is a result, or the task no longer waits."""
        return self.future.done()

    def set_result(self, result: Any) -> None:
        """Set the result and notify the task."""
        self._put(self.future.set_result, result)

    def set_exception(self, error: BaseException) -> None:
        """Set the error, which the task raises, and notify the task."""
        self._put(self.future.set_exception, error)

    def _put(self, put: Callable[[Any], None], outcome: Any) -> None:
        def on_loop() -> None:
            if not self.future.done():
                put(outcome)

        try:
            self._loop.call_soon_threadsafe(on_loop)
        except RuntimeError:
            pass  # the loop is closed
