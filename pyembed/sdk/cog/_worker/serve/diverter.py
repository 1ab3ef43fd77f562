"""Canceling synchronous predictions that run an event loop or greenlets.

A loop drops exceptions that are raised in its own code and in its callbacks, and a greenlet ends by
one alone. So the tasks of the loop, also of trio's, are canceled, and the exception is raised in
the main greenlet.

What an asyncio loop then raises is asyncio's exception and cog's in one: its tasks expect the one,
the function that runs it expects the other.
"""

from __future__ import annotations

import sys
from errno import EINTR

import _px

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from types import FrameType
    from typing import Any


class _Woken(InterruptedError):
    """Ends the wait of eventlet's hub, which then runs what was scheduled."""

    errno = EINTR


class Diverter:
    """Makes the code on this thread end the prediction. The cancel signal's handler asks it."""

    def __init__(self, cancelation: type[BaseException]) -> None:
        self._cancelation = cancelation
        self._in_loop: type[BaseException] | None = None  # asyncio's exception and cog's in one
        self._waits = False  # tasks are still to be canceled
        self._first: asyncio.Task[Any] | None = None  # was interrupted; then they wait for its end

    def divert(self, frame: FrameType | None, again: bool) -> Any:
        """Return True if that is arranged, the exception to raise, or None to raise the usual one.

        again says that it was arranged before and the prediction still runs.
        """
        events: Any = sys.modules.get("asyncio.events")
        loop = events._get_running_loop() if events is not None else None
        if loop is not None:
            if not again and _passes_on(loop, frame):
                return None
            return self._cancel_tasks(loop, again)
        trio: Any = sys.modules.get("trio")
        if trio is not None and (again or _is_of(frame, "trio._core")):
            return _cancel_trio(trio)
        greenlet: Any = sys.modules.get("greenlet")
        main = current = greenlet.getcurrent() if greenlet is not None else None
        while main is not None and main.parent is not None:
            main = main.parent
        if main is current:
            return None
        return self._throw(main, again)

    def divert_thread(self, frame: FrameType, id: int) -> type[BaseException] | None:
        """Return what to raise in the thread of a slot whose frame is given; None: the usual one.

        If a callback or task of asyncio's loop runs there, the loop then ends the others.
        """
        loop = _loop_of(frame)
        if loop is None:
            return None
        import asyncio

        running = asyncio.current_task(loop)
        loop.call_soon_threadsafe(self._end_loop, loop, running, id)
        return self._both()

    def _end_loop(self, loop: Any, first: asyncio.Task[Any] | None, id: int) -> None:
        """Cancel the tasks of this thread's loop, after the one that was interrupted."""
        import asyncio

        if _px.running() != id:
            return  # the loop is used again, by another prediction

        def cancel(tasks: set[asyncio.Task[Any]]) -> None:
            for task in tasks - {first}:
                task.add_done_callback(self._pass_on)
                task.cancel()

        tasks = asyncio.all_tasks(loop)
        if first is None:
            cancel(tasks)
        elif first.done():
            self._pass_on(first)
            cancel(tasks)
        else:  # it cleans up
            first.add_done_callback(self._pass_on)
            first.add_done_callback(lambda _: cancel(tasks))

    def _cancel_tasks(self, loop: asyncio.AbstractEventLoop, again: bool) -> Any:
        import asyncio

        if again and not self._waits:
            loop.call_soon_threadsafe(_stop_without_tasks, loop)
            return True  # the tasks may be cleaning up
        running = asyncio.current_task(loop)

        def cancel(tasks: set[asyncio.Task[Any]]) -> None:
            if self._waits:
                self._waits = False
                for task in tasks - {running}:
                    task.add_done_callback(self._pass_on)
                    task.cancel()

        self._waits = True
        cleans_up = again and self._first is not None and running is None
        self._first = None if again else running
        if self._first is not None:
            # Tasks that wait for this one would cancel it once more, while it cleans up.
            others = asyncio.all_tasks(loop)
            self._first.add_done_callback(self._pass_on)
            self._first.add_done_callback(lambda _: cancel(others))
        else:
            loop.call_soon_threadsafe(lambda: cancel(asyncio.all_tasks(loop)))
        # A task that computes or blocks is interrupted, and a callback that does so for long.
        interrupts = running is not None or (again and not cleans_up)
        return self._both() if interrupts else True

    def _pass_on(self, task: asyncio.Task[Any]) -> None:
        """Raise it in what runs the loop, which asks the main task for its result."""
        if task.cancelled():
            task.result = self._raise  # type: ignore[method-assign]

    def _raise(self) -> Any:
        raise self._both()("the prediction was canceled")

    def _both(self) -> type[BaseException]:
        if self._in_loop is None:
            import asyncio

            names = {n: getattr(self._cancelation, n) for n in ("__module__", "__qualname__")}
            bases = (self._cancelation, asyncio.CancelledError)
            self._in_loop = type(self._cancelation.__name__, bases, names)
        return self._in_loop

    def _throw(self, main: Any, again: bool) -> Any:
        if again:
            return True

        def throw() -> None:
            main.throw(self._cancelation("the prediction was canceled"))

        gevent: Any = sys.modules.get("gevent")
        hubs: Any = sys.modules.get("eventlet.hubs")
        if gevent is not None:
            gevent.get_hub().loop.run_callback(throw)
        elif hubs is not None:
            hub = hubs.get_hub()
            hub.schedule_call_global(0, throw)
            return _Woken if hub.greenlet is sys.modules["greenlet"].getcurrent() else True
        else:
            return None
        return True


def _cancel_trio(trio: Any) -> bool | None:
    """Cancel the tasks of trio's loop on this thread, which waits; None: none runs."""
    try:
        token = trio.lowlevel.current_trio_token()
    except RuntimeError:
        return None

    def cancel() -> None:
        # The nursery of the main task, within that of what other threads ask for.
        trio.lowlevel.current_root_task().child_nurseries[-1].cancel_scope.cancel()

    token.run_sync_soon(cancel, idempotent=True)
    return True


def _loop_of(frame: FrameType | None) -> Any:
    """Return asyncio's loop that runs a callback in a frame or one of its callers, or None."""
    events: Any = sys.modules.get("asyncio.events")
    while events is not None and frame is not None:
        if frame.f_code is events.Handle._run.__code__:
            return frame.f_locals["self"]._loop
        frame = frame.f_back
    return None


def _is_of(frame: FrameType | None, package: str) -> bool:
    """Return whether a frame runs code of a package."""
    return frame is not None and str(frame.f_globals.get("__name__")).startswith(package)


def _stop_without_tasks(loop: Any) -> None:
    """Stop a loop that was asked to run forever."""
    if not sys.modules["asyncio"].all_tasks(loop):
        loop.stop()


def _passes_on(loop: Any, frame: FrameType | None) -> bool:
    """Return whether asyncio's loop waits and so ends by an exception, as by KeyboardInterrupt."""
    bases: Any = sys.modules.get("asyncio.base_events")
    if bases is None or not isinstance(loop, bases.BaseEventLoop):
        return False
    run_once = getattr(bases.BaseEventLoop._run_once, "__code__", None)
    run = sys.modules["asyncio.events"].Handle._run.__code__
    while frame is not None and frame.f_code is not run:
        if frame.f_code is run_once:
            return True
        frame = frame.f_back
    return False
