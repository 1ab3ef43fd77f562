"""A slot of an async server: the requests that wait in it, and its task."""

from __future__ import annotations

import asyncio
from collections import deque

import _px

from ...exceptions import CancelationException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .sync import Function

SLOT_SHIFT = 48  # of a slot's index in the ids of its frames, as in ipc/page.go
# Stands for a slot's task while its first step runs, before `launch` returns the task.
STARTING: Any = object()


class Slot:
    """One slot. It runs one prediction at a time."""

    __slots__ = (
        "canceled",
        "coroutine",
        "id",
        "index",
        "inside",
        "is_sync",
        "pending",
        "task",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.pending: deque[tuple[int, int, Any, BaseException | None]] = deque()
        self.id = 0
        self.task: asyncio.Task[None] | None = None  # or STARTING
        self.coroutine: Any = None  # of the task
        self.inside = False  # the task is in the model's code
        self.is_sync = False  # that code is synchronous: a train function
        # The id that was canceled last. The page does not keep it: a late cancel of
        # an earlier prediction overwrites its word.
        self.canceled = 0

    def is_cancel(self, raised: BaseException, function: Function | None, id: int) -> bool:
        """Return whether an exception ends a prediction as canceled.

        A model may raise it itself and is canceled then, as with coglet: CancelledError in an async
        function, CancelationException in others. The wrong one is a failure unless the front asked
        for the cancel.
        """
        kind = type(raised)  # isinstance would ask the model's exception
        if issubclass(kind, asyncio.CancelledError):
            return True
        if not issubclass(kind, CancelationException):
            return False
        is_sync = function is not None and not function.is_async
        return is_sync or self.canceled == id or _px.is_canceled(self.index, id)
