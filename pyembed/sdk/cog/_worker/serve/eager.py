"""Starting a task at once, without a turn of the event loop.

From Python 3.12 on asyncio does this itself. On 3.10 and 3.11 `_start_by_hand` takes the first step
of the new task from private attributes of the loop, and runs it. Without that an async echo costs
168 000 instructions instead of 108 000 on 3.10 and 95 000 instead of 62 000 on 3.11, and a server
of 3.11 answers 7 500 requests a second with 8 connections instead of 10 100. To switch it off, let
`eager_start` return None: a task then starts with the next turn of the loop, as on loops that are
not CPython's own.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import Task
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    Start = Callable[[Coroutine[Any, Any, None], asyncio.AbstractEventLoop], asyncio.Task[None]]


def eager_start(loop: asyncio.AbstractEventLoop) -> Start | None:
    """Return what starts a task at once on a loop; None if nothing does."""
    if sys.version_info >= (3, 12):
        return _start
    return _start_by_hand if isinstance(getattr(loop, "_ready", None), deque) else None


def _start(
    coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> asyncio.Task[None]:
    """Start a task and run its first step at once. No other task may be running."""
    return Task(coroutine, loop=loop, eager_start=True)  # type: ignore[call-arg,unused-ignore]


def _start_by_hand(
    coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> asyncio.Task[None]:
    """Do the same before Python 3.12. Rarely the first step has to wait for its turn."""
    task = Task(coroutine, loop=loop)
    ready = loop._ready  # type: ignore[attr-defined]
    step = ready.pop()  # a new task appends its first step
    if getattr(step._callback, "__self__", None) is task:
        step._context.run(step._callback)
    else:
        ready.append(step)  # a thread of the model appended a callback meanwhile
    return task
