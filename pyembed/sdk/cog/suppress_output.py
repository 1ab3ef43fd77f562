"""Keeping a noisy library out of a prediction's logs."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from threading import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

__all__ = ["suppress_output"]


@contextmanager
def suppress_output() -> Generator[None, None, None]:
    """Drop what Python, C code and child processes write to stdout and stderr.

    It silences the whole process: text of other threads, and of other
    predictions of an async model, is dropped too.

    >>> from cog.suppress_output import suppress_output
    >>> with suppress_output():
    ...     print("loading checkpoint shards: 50%")
    """
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()


class _Silence:
    """The state of the process, shared by predictions that begin and end in any order."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._streams: tuple[Any, Any] = (None, None)
        self._copies: list[tuple[int, int]] = []
        self._nowhere: Any = None
        self._route: Any = None

    def begin(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._close()
            self._depth += 1

    def end(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._open()

    def _close(self) -> None:
        self._streams = sys.stdout, sys.stderr
        self._flush()
        self._copies = [(fd, os.dup(fd)) for fd in (1, 2)]
        self._nowhere = nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, for _open
        for fd, _ in self._copies:
            os.dup2(nowhere.fileno(), fd)
        sys.stdout = sys.stderr = nowhere
        shared = _shared()
        if shared is not None:
            # A logging handler has one of the worker's streams, which may not write to 1 and 2.
            self._route, shared.route = shared.route, _drop

    def _open(self) -> None:
        sys.stdout, sys.stderr = self._streams
        self._flush()  # drop what the buffers hold
        for fd, copy in self._copies:
            os.dup2(copy, fd)
            os.close(copy)
        shared = _shared()
        if shared is not None:
            shared.route = self._route
        self._nowhere.close()

    def _flush(self) -> None:
        """Flush the buffers of Python and C."""
        for stream in self._streams:
            try:
                stream.flush()
            except Exception:
                pass  # there is none, or the model closed it
        try:
            import ctypes

            ctypes.CDLL(None).fflush(None)
        except Exception:
            pass  # a Python without ctypes: C's buffer cannot be reached


_silence = _Silence()


def _shared() -> Any:
    """Return the state that a worker's two streams share, None outside of a worker."""
    streams = sys.modules.get("cog._worker.logs.streams")
    return streams.Shared if streams is not None else None


def _drop(source: str, text: str) -> bool:
    return True
