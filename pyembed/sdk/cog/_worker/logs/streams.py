"""The standard streams of a worker, which keep the order of stdout and stderr.

They are two pipes, and their reader cannot know which of two lines came first.
So when the model changes from one stream to the other, the worker sends the front
the positions in both.
"""

from __future__ import annotations

import sys
from io import BufferedWriter, TextIOWrapper

import _px

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


WARNING, ERROR = 30, 40  # of `logging`


class Stream(TextIOWrapper):
    """A standard stream that records a change from the other stream.

    It also records writes, as its buffer does. The worker flushes only after a write.
    """

    source = ""  # "stdout" or "stderr"

    # The worker calls this at the end of a prediction. A router has sent its text by then, so its
    # own flush is not needed.
    flush_at_end = TextIOWrapper.flush

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Use the flush of a model's subclass."""
        super().__init_subclass__(**kwargs)
        cls.flush_at_end = cls.flush

    def __repr__(self) -> str:
        """Return what `TextIOWrapper` does: Python 3.15 leaves the module of other types out."""
        return super().__repr__().replace("<TextIOWrapper", "<_io.TextIOWrapper", 1)

    def write(self, text: str, /) -> int:
        """Write text, as `TextIOWrapper.write` does."""
        if Shared.collect is not None and Shared.collect(self, text):
            return len(text)
        route = Shared.route
        if route is not None and route(self.source, text):
            return len(text)
        if Shared.last is not self:
            _take_over(self)
        if type(text) is Record:
            _announce(self, text)
        due = _px.note_write()
        count = super().write(text)
        if due:  # dots without a newline, say
            self.flush()
        return count


class Buffer(BufferedWriter):
    """The binary buffer of a standard stream, to which a model may write bytes."""

    source = ""  # "stdout" or "stderr"

    def __repr__(self) -> str:
        """Return what `BufferedWriter` does: Python 3.15 leaves the module of other types out."""
        return super().__repr__().replace("<BufferedWriter", "<_io.BufferedWriter", 1)

    def write(self, data: Any, /) -> int:
        """Write bytes, as `BufferedWriter.write` does."""
        route = Shared.route
        if route is not None:
            raw = memoryview(data)
            if route(self.source, decoded(raw)):
                return raw.nbytes
        due = _px.note_write()
        count = super().write(data)
        if due:
            self.flush()
        return count


for _ours, _pythons in ((Stream, TextIOWrapper), (Buffer, BufferedWriter)):
    for _name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(_ours, _name, getattr(_pythons, _name))  # libraries compare and print these


class Record(str):
    """Text that is one record of the server's log, with a level of `logging` and a logger."""

    about = ""  # members of the frame that tells the front

    @staticmethod
    def of(text: str, level: int, logger: str = "") -> Record:
        """Return a record. The name of a long logger is cut."""
        text, logger = (t.encode(errors="backslashreplace").decode() for t in (text, logger[:80]))
        record = Record(text)
        record.about = f'"level":{int(level)},"logger":{_px.dumps(logger, None).decode()}'
        return record


class Shared:
    """The state that the two streams share."""

    last: Any = None  # the stream of the last write
    # Takes a source and a text, and returns whether it sent the text elsewhere. The streams call
    # it: if they were replaced instead, logging handlers would still use the old ones.
    route: Callable[[str, str], bool] | None = None
    # Takes a stream and a text, and returns whether it is a part of a record (`logs.records`).
    collect: Callable[[Stream, str], bool] | None = None


def decoded(data: Any) -> str:
    """Return bytes that a model writes to its log as text."""
    return bytes(data).decode(errors="backslashreplace")


def _take_over(stream: Stream) -> None:
    other, Shared.last = Shared.last, stream
    try:
        if other is not None:
            other.flush()
    except Exception:
        pass  # the model closed it
    _px.log_switched()


def _announce(stream: Stream, record: Record) -> None:
    TextIOWrapper.flush(stream)
    _px.log_record(1 if stream.source == "stdout" else 2, len(record.encode()), record.about)


def order_streams() -> None:
    """Make Python's standard streams and their buffers ours.

    They stay the same objects: what ran before, such as a sitecustomize with logging, has them. A
    stream of another kind is not Python's, and is left alone.
    """
    _px.set_stream_type(Stream)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, f"__{name}__")
        if type(stream) is not TextIOWrapper or stream.closed:
            continue
        # Logs are JSON and so UTF-8. No character is an error or is dropped, with any
        # locale and PYTHONIOENCODING.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
        if type(stream.buffer) is BufferedWriter:  # else it has no buffer
            _become(stream.buffer, Buffer, name)
        _become(stream, Stream, name)


def _become(stream: Any, kind: Any, name: str) -> None:
    if _layout(kind) == _layout(type(stream)):
        _px.retype(stream, kind)
        stream.source = name


def _layout(kind: Any) -> tuple[int, int, int]:
    return kind.__basicsize__, kind.__dictoffset__, kind.__weakrefoffset__
