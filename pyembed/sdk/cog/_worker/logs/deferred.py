"""Output of health checks, deferred until no prediction runs."""

from __future__ import annotations

import sys
from contextvars import ContextVar

import _px

from .streams import Shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST = 64 << 10  # characters; later ones are dropped

_inside: ContextVar[bool] = ContextVar("pinion_deferred", default=False)


class DeferredOutput:
    """Stores what a call prints through Python until no prediction runs.

    If predictions run one at a time, text in the pipes belongs to the running one.
    """

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._size = 0
        self._next = Shared.route
        Shared.route = self._route

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function, and write its output if no prediction runs, else after a later call."""
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
            self._texts.append((source, text))
            self._size += len(text)
        return True

    def _release(self) -> None:
        if not self._texts or not _px.idle():
            return
        texts, self._texts, self._size = self._texts, [], 0
        try:
            for source, text in texts:
                getattr(sys, source).write(text)
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            pass  # the model closed or replaced them
