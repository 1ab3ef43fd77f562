"""What the tasks and threads of a worker do, for a look at a prediction that does not end.

The fault handler has written the stack of the main thread. Here are names and lines alone, never
a value.
"""

from __future__ import annotations

import gc
import os
import sys
from _thread import get_ident

import _px

from .wire import STACKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

_MOST_FRAMES = 100  # of a stack
_MOST_THREADS = 50
_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep


def report(index: int, id: int, handler: Any) -> None:
    """Send those of a slot to the front.

    The handler of the cancel signal calls this, on the main thread. id is the request's.
    """
    text = "".join(_stacks(index, getattr(handler, "__self__", None)))
    _px.control(STACKS, {"text": text}, id)


def _stacks(index: int, server: Any) -> Iterator[str]:
    slots = getattr(server, "_slots", None)  # of an event loop
    if slots and slots[index].task is not None and not slots[index].coroutine.cr_running:
        frames = reversed(list(_awaited(slots[index].coroutine)))
        yield from _written("Task of the prediction", frames)
    shown = 0
    for thread, frame in sys._current_frames().items():
        if thread != get_ident() and shown < _MOST_THREADS and not _is_own(frame):
            shown += 1
            yield from _written(f"Thread {shown}", _callers(frame))


def _written(title: str, frames: Any) -> Iterator[str]:
    yield f"{title} (most recent call first):\n"
    for count, frame in enumerate(frames):
        if count == _MOST_FRAMES:
            yield "  ...\n"
            return
        code = frame.f_code
        if not code.co_filename.startswith(_OWN):
            yield f'  File "{code.co_filename}", line {frame.f_lineno} in {code.co_name}\n'


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_own(frame: FrameType) -> bool:
    """Return whether a thread is the worker's, and runs nothing of the model's."""
    return all(
        f.f_code.co_filename.startswith((_OWN, "<")) or _is_threading(f) for f in _callers(frame)
    )


def _is_threading(frame: FrameType) -> bool:
    return os.path.basename(frame.f_code.co_filename) == "threading.py"


def _awaited(waiting: Any) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it waits for, down to the innermost."""
    for _ in range(_MOST_FRAMES):
        frame = _first(waiting, "cr_frame", "gi_frame", "ag_frame")
        if frame is not None:
            yield frame
        next_one = _first(waiting, "cr_await", "gi_yieldfrom", "ag_await")
        if next_one is None:
            next_one = _behind(waiting)
        if next_one is None:
            return
        waiting = next_one


def _first(of: Any, *names: str) -> Any:
    return next(
        (value for value in (getattr(of, n, None) for n in names) if value is not None), None
    )


def _behind(waiting: Any) -> Any:
    """Return the coroutine that an object without frames waits for.

    The object is a task, or a step of an asynchronous generator.
    """
    for referent in [waiting, *gc.get_referents(waiting)]:
        if hasattr(referent, "get_coro"):
            return referent.get_coro()
        children = getattr(referent, "_children", None)  # of asyncio.gather
        if type(children) is list:
            return next(
                (c.get_coro() for c in children if not c.done() and hasattr(c, "get_coro")), None
            )
        if referent is not waiting and hasattr(referent, "ag_frame"):
            return referent
    return None
