"""The standard streams of a worker: lines go out as they are written, in order.

stdout and stderr are two pipes, and a reader of two pipes cannot know which of
two lines came first. So whenever the model goes over from one stream to the
other, the worker tells the front how far both have come.
"""

from __future__ import annotations

import sys
from io import BufferedWriter, TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _px: Any = None  # a user's type checker does not find it
else:
    import _px


class Stream(TextIOWrapper):
    """A standard stream that says when it takes over from the other one.

    It says when it was written to, as its buffer does: the worker flushes neither without that.
    """

    source = ""  # "stdout" or "stderr"

    # What the worker calls at a prediction's end. By then a router (logs.py) has sent what it held,
    # and its flush would only ask it again.
    settle = TextIOWrapper.flush

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Have a model's own kind of stream flushed its own way."""
        super().__init_subclass__(**kwargs)
        cls.settle = cls.flush

    def write(self, text: str, /) -> int:
        """Write text, as `TextIOWrapper.write` does."""
        route = Shared.route
        if route is not None and route(self.source, text):
            return len(text)
        if Shared.last is not self:
            _take_over(self)
        _px.wrote()
        return super().write(text)


class Buffer(BufferedWriter):
    """What stands behind a standard stream, to which a model may write bytes."""

    def write(self, data: Any, /) -> int:
        """Write bytes, as `BufferedWriter.write` does."""
        _px.wrote()
        return super().write(data)


class Shared:
    """What the two streams have in common."""

    last: Any = None  # the one that was written to last
    # Sends a text elsewhere, given its source, or returns False. The streams ask, and are not
    # replaced, because a logging handler keeps the stream that it found at the model's import.
    route: Callable[[str, str], bool] | None = None


def _take_over(stream: Stream) -> None:
    other, Shared.last = Shared.last, stream
    try:
        if other is not None:
            other.flush()
    except Exception:
        pass  # the model closed it
    _px.log_switch()


def order_streams() -> None:
    """Replace sys.stdout and sys.stderr, and what stands behind them, by ordered ones."""
    _px.set_stream_type(Stream)
    for name in ("stdout", "stderr"):
        old = getattr(sys, name)
        if old is None:
            continue
        # Logs are JSON, and so UTF-8: no character that a model may print is an
        # error or gets lost, whatever the locale and PYTHONIOENCODING say.
        behind = old.detach()
        if type(behind) is BufferedWriter:  # else nothing is held there
            behind = Buffer(behind.detach())
        new = Stream(behind, "utf-8", "backslashreplace", "\n", line_buffering=True)
        new.mode = "w"  # type: ignore[misc]
        new.source = name
        setattr(sys, name, new)
        setattr(sys, "__" + name + "__", new)
