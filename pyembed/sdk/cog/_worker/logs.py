"""Telling apart what concurrent predictions print.

With one prediction at a time the log pipes say it all. With several, text that
goes through `sys.stdout` and `sys.stderr` is sent to the prediction in whose
context it was written; the rest stays in the pipes and is the worker's.
"""

from __future__ import annotations

import os
from contextvars import ContextVar, copy_context
from io import TextIOWrapper
from threading import RLock

from .scope import INACTIVE, Scope, current
from .streams import Shared, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _px: Any = None  # a user's type checker does not find it
else:
    import _px

# The prediction that this code runs for: its slot and id.
owner: ContextVar[tuple[int, int] | None] = ContextVar("pinion_owner", default=None)


# A line is held until it is whole, and at most to this many characters.
_LONGEST = 8192


class Router:
    """Sends text to the prediction in whose context it is written, in whole lines."""

    def __init__(self) -> None:
        # Of each prediction in progress, the source and the text of the line that it has begun.
        self._live: dict[tuple[int, int], list[str]] = {}
        self._lock = RLock()  # a signal handler may print as well

    def install(self) -> None:
        """Make the standard streams ask this router from now on."""
        Shared.route = self.write

        def flush(stream: Any) -> None:
            who = owner.get()
            if who is not None:
                self.flush(who)
            TextIOWrapper.flush(stream)

        Stream.flush = flush  # type: ignore[assignment,method-assign]
        # A forked child prints into the pipes: it has no socket to the front.
        os.register_at_fork(after_in_child=self._live.clear)

    def begin(self, who: tuple[int, int]) -> None:
        """Take in what is written in this context for a prediction, from now on."""
        self._live[who] = ["", ""]
        owner.set(who)

    def end(self, who: tuple[int, int]) -> None:
        """Send what is left of a prediction's text; what threads still write is the worker's."""
        self.flush(who)
        self._live.pop(who, None)

    def write(self, source: str, text: str) -> bool:
        """Take text, unless it belongs to no prediction in progress."""
        who = owner.get()
        begun = None if who is None else self._live.get(who)
        if who is None or begun is None or not isinstance(text, str):
            return False
        with self._lock:
            if begun[0] != source:
                self.flush(who)
            lines, line = _whole(begun[1] + text)
            begun[:] = source, line
            _send(who, source, lines)
        return True

    def flush(self, who: tuple[int, int]) -> None:
        """Send the line that a prediction has begun."""
        begun = self._live.get(who)
        if begun is not None and begun[1]:
            with self._lock:
                line, begun[1] = begun[1], ""
                _send(who, begun[0], line)


class Strays:
    """Keeps what tasks write after their prediction's end out of the text of the one that runs.

    One prediction at a time has what comes through the pipes. What strays write is the worker's.

    running     the scope of the prediction that runs, or of the last one
    """

    def __init__(self) -> None:
        self.running: Scope | None = None
        self._installed = False
        self._begun = {"stdout": "", "stderr": ""}  # the lines that strays have begun
        self._lock = RLock()

    def install(self) -> None:
        """Make the standard streams ask from now on, after whom they ask already."""
        if self._installed:
            return
        self._installed = True
        before = Shared.route

        def route(source: str, text: str) -> bool:
            return (before is not None and before(source, text)) or self.write(source, text)

        Shared.route = self.write if before is None else route

    def is_stray(self) -> bool:
        """Tell whether this code belongs to another prediction than the one that runs."""
        scope = current.get()
        return scope is not self.running and scope is not INACTIVE

    def write(self, source: str, text: str) -> bool:
        """Take text that is of another prediction than the one that runs."""
        if not self.is_stray() or not isinstance(text, str):
            return False
        if _px.is_child():
            return False  # it has no socket to the front
        with self._lock:
            lines, self._begun[source] = _whole(self._begun[source] + text)
            _send((0, 0), source, lines)
        return True


def _whole(text: str) -> tuple[str, str]:
    """Return the whole lines of a text, and the line that it has begun."""
    end = len(text) if len(text) > _LONGEST else text.rfind("\n") + 1
    return text[:end], text[end:]


def _send(who: tuple[int, int], source: str, text: str) -> None:
    if text:
        _px.log(who[0], who[1], source, text.encode(errors="backslashreplace").decode())


def follow_threads() -> None:
    """Make threads and executors run in the context of whoever started the work."""
    import concurrent.futures.thread  # noqa: F401 - an event loop needs it
    import threading
    from functools import partial

    from .pools import follow_pools

    start = threading.Thread.start

    def start_in_context(self: threading.Thread) -> None:
        follow_pools(carry)
        run, context = self.run, copy_context()
        self.run = lambda: context.run(run)  # type: ignore[method-assign]
        start(self)

    def carry(function: Callable[..., Any]) -> Callable[..., Any]:
        return partial(copy_context().run, function)

    threading.Thread.start = start_in_context  # type: ignore[method-assign]
    follow_pools(carry)
