"""Text that does not belong to the prediction that runs at the moment."""

from __future__ import annotations

import sys
from contextvars import ContextVar

import _px

from .streams import Shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST = 64 << 10  # characters that are kept; what comes after them is dropped

_inside: ContextVar[bool] = ContextVar("pinion_aside", default=False)


class Aside:
    """Keeps what a call prints through Python until no prediction is running.

    One prediction at a time has all that comes through the pipes; nobody has what comes between.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[str, str]] = []
        self._size = 0
        self._next = Shared.route
        Shared.route = self._route

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function, and write what it printed when there is an occasion."""
        token = _inside.set(True)
        try:
            return function()
        finally:
            _inside.reset(token)
            self._release()

    def _route(self, source: str, text: str) -> bool:
        if not _inside.get() or not isinstance(text, str):
            return self._next is not None and self._next(source, text)
        if self._size < _MOST:
            self._kept.append((source, text))
            self._size += len(text)
        return True

    def _release(self) -> None:
        if not self._kept or not _px.idle():
            return
        kept, self._kept, self._size = self._kept, [], 0
        try:
            for source, text in kept:
                getattr(sys, source).write(text)
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            pass  # the model closed or replaced them
