"""Sending output to the log of its prediction.

If predictions run one at a time, all text in the log pipes belongs to the running
one. If they are concurrent, text for `sys.stdout` and `sys.stderr` goes to the
prediction in whose context it is written. The rest is unattributed: it stays in
the pipes, for the worker's log.
"""

from __future__ import annotations

import os
import posix
from contextvars import ContextVar, copy_context
from io import TextIOWrapper
from time import monotonic

import _px

from ..primitives import STARTS, RLock, are_replaced, get_ident
from ..scope import INACTIVE, Scope, current
from ..substitute import substitute
from .streams import Buffer, Record, Shared, Stream, decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Owner = tuple[Any, ...]

# Slot and id of the prediction that this code runs for; several of these for a batch of calls.
owner: ContextVar[Owner | None] = ContextVar("pinion_owner", default=None)


_SOURCES = {1: "stdout", 2: "stderr"}

# A partial line waits for its end, up to this many characters and seconds.
_LONGEST = 8192
_TIMEOUT = 1.0


class Router:
    """Sends text to the prediction in whose context it is written, in whole lines."""

    def __init__(self) -> None:
        # For each prediction in progress, the source, the text and the time of its partial line.
        self._live: dict[Owner, list[Any]] = {}
        self._lock = RLock()  # a signal handler may print as well

    def install(self) -> None:
        """Make the standard streams use this router."""
        Shared.route = self.write

        def flush(stream: Any) -> None:
            who = owner.get()
            if who in self._live:  # the text in the stream is not this prediction's
                self.flush(who)
            else:
                TextIOWrapper.flush(stream)

        Stream.flush = flush  # type: ignore[assignment,method-assign]
        # A forked child prints into the pipes: it has no socket to the front.
        os.register_at_fork(after_in_child=self._live.clear)

    def begin(self, who: Owner) -> None:
        """Attribute what this context writes to a prediction."""
        self._live[who] = ["", "", 0.0]
        owner.set(who)

    def end(self, who: Owner) -> None:
        """Send the rest of a prediction's text. What threads write later is unattributed."""
        self.flush(who)
        self._live.pop(who, None)

    def write(self, source: str, text: str) -> bool:
        """Take the text of a prediction in progress; return whether it was one."""
        who = owner.get()
        begun = None if who is None else self._live.get(who)
        if who is None or begun is None or not isinstance(text, str):
            return False
        with self._lock:
            if begun[0] != source or isinstance(text, Record):
                self.flush(who)
            if isinstance(text, Record):
                self._send(who, source, text, text.about)
                return True
            lines, line = _whole(begun[1] + text)
            if line and (lines or not begun[1]):
                begun[2] = monotonic()
            elif line and monotonic() - begun[2] >= _TIMEOUT:
                lines, line = line, ""
            begun[:2] = source, line
            self._send(who, source, lines)
        return True

    def flush(self, who: Owner) -> None:
        """Send a prediction's partial line."""
        begun = self._live.get(who)
        if begun is not None and begun[1]:
            with self._lock:
                line, begun[1] = begun[1], ""
                self._send(who, begun[0], line)

    def _send(self, who: Owner, source: str, text: str, record: str = "") -> None:
        """Send text to a prediction, or to each of a batch that is in progress."""
        if not isinstance(who[0], tuple):
            _send(who, source, text, record)
            return
        for each in who:
            if text and each in self._live:
                self.flush(each)
                _send(each, source, text, record)


class LeftoverOutput:
    """Keeps the output of tasks that outlive their prediction out of the running one's log.

    If predictions run one at a time, text in the pipes belongs to the running one. Text of leftover
    tasks is unattributed and goes to the worker's log.

    running     the scope of the running prediction, or of the last one
    """

    def __init__(self) -> None:
        self.running: Scope | None = None
        self._installed = False
        self._main = get_ident()
        self._begun = {"stdout": "", "stderr": ""}  # partial lines
        self._lock = RLock()

    def install(self) -> None:
        """Make the standard streams ask this object, after a router that they already use."""
        if self._installed:
            return
        self._installed = True
        before = Shared.route

        def route(source: str, text: str) -> bool:
            return (before is not None and before(source, text)) or self.write(source, text)

        Shared.route = self.write if before is None else route
        self._keep_from_flushing(Stream)
        self._keep_from_flushing(Buffer)
        self._follow_raw_writes()

    def _keep_from_flushing(self, stream: Any) -> None:
        """Leave the buffered text to the running prediction, which wrote it."""
        flush = stream.flush

        def flush_if_running(stream: Any) -> None:
            if not self._takes():
                flush(stream)

        stream.flush = flush_if_running

    def _follow_raw_writes(self) -> None:
        """Make the functions of `os` that write to the pipes or start a shell ask too."""

        def routing_write(write: Any) -> Any:
            def routed(fd: int, data: Any, /) -> int:
                return self._take_raw(fd, (data,)) or write(fd, data)

            return routed

        def routing_writev(writev: Any) -> Any:
            def routed(fd: int, buffers: Any, /) -> int:
                taken = self._take_raw(fd, buffers)
                return taken or writev(fd, buffers)

            return routed

        def routing_system(system: Any) -> Any:
            def routed(command: Any) -> int:
                # Another thread may become leftover within system, which gives the GIL back.
                if get_ident() == self._main and not _px.is_leftover():
                    return system(command)  # type: ignore[no-any-return]
                # A child of system would have the running prediction's streams.
                pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
                return os.waitpid(pid, 0)[1]

            return routed

        substitute("write", routing_write, os, posix)
        substitute("writev", routing_writev, os, posix)
        substitute("system", routing_system, os, posix)

    def _take_raw(self, fd: int, buffers: Any) -> int:
        """Take the bytes of a leftover task for a log pipe; return how many there were, or 0."""
        if fd not in _SOURCES or not self._takes() or not _px.is_log(fd):
            return 0
        data = b"".join(buffers)
        self.write(_SOURCES[fd], decoded(data))
        return len(data)

    def _takes(self) -> bool:
        """Return whether the text of this code must not go into the pipes."""
        return self.is_leftover() and not _px.is_child()  # a child has no socket to the front

    def is_leftover(self) -> bool:
        """Return whether this code belongs to a prediction that is not running."""
        scope = current.get()
        return scope is not self.running and scope is not INACTIVE

    def write(self, source: str, text: str) -> bool:
        """Take text of a leftover task; return whether it was one."""
        if not isinstance(text, str) or not self._takes():
            return False
        record = text.about if isinstance(text, Record) else ""
        with self._lock:
            begun = self._begun[source]
            lines, self._begun[source] = (begun, "") if record else _whole(begun + text)
            _send((0, 0), source, lines)
            if record:
                _send((0, 0), source, text, record)
        return True


def _whole(text: str) -> tuple[str, str]:
    """Return the whole lines of a text, and its partial last line."""
    end = len(text) if len(text) > _LONGEST else text.rfind("\n") + 1
    return text[:end], text[end:]


def _send(who: Owner, source: str, text: str, record: str = "") -> None:
    if text:
        text = text.encode(errors="backslashreplace").decode()
        _px.log(who[0], who[1], source, text, record)


def follow_threads() -> None:
    """Make threads and executors run in the context of the code that starts the work.

    `Thread` is left as it is: libraries replace its `start` and the `run` of its objects.
    """
    import _thread
    import concurrent.futures.thread  # noqa: F401 - an event loop needs it
    import threading
    from functools import partial

    from .pools import follow_pools

    def in_this_context(function: Callable[..., Any]) -> Callable[..., Any]:
        return partial(copy_context().run, function)

    def following(start: Callable[..., Any]) -> Callable[..., Any]:
        if are_replaced():
            return start

        def start_in_context(function: Any, /, *args: Any, **named: Any) -> Any:
            follow_pools(in_this_context)
            if not callable(function):
                return start(function, *args, **named)  # which raises
            thread = getattr(function, "__self__", None)
            # Python 3.14 runs a thread in a context of its own, which is empty by default.
            if isinstance(thread, threading.Thread) and not getattr(thread, "_context", True):
                thread._context = copy_context()  # type: ignore[attr-defined]
            return start(in_this_context(function), *args, **named)

        return start_in_context

    for name in STARTS:
        substitute(name, following, _thread, threading)
    follow_pools(in_this_context)
