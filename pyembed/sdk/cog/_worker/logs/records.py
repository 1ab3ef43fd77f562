"""Records of `logging` and warnings, whose level and logger the server's log keeps.

`serve.submodules` imports this module with `logging` or `warnings`.
"""

from __future__ import annotations

from contextvars import ContextVar

from ..substitute import looking_like
from .streams import WARNING, Record, Shared, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

# What the handling of a record has written until now.
_texts: ContextVar[list[tuple[Stream, str]] | None] = ContextVar("pinion_record", default=None)


def follow(module: ModuleType) -> None:
    """Make what `logging` or `warnings` writes to a standard stream a record."""
    Shared.collect = _collect
    if module.__name__ == "logging":
        handler = module.Handler
        handle = handler.handle

        def handle_one(self: Any, record: Any) -> Any:
            return _recorded(record.levelno, record.name, handle, self, record)

        handler.handle = looking_like(handle, handle_one)
        return
    show = module._showwarnmsg_impl

    def show_one(message: Any) -> Any:
        return _recorded(WARNING, "py.warnings", show, message)

    module._showwarnmsg_impl = show_one  # type: ignore[attr-defined]


def _recorded(level: Any, logger: Any, function: Callable[..., Any], *args: Any) -> Any:
    if _texts.get() is not None:  # a handler that logs
        return function(*args)
    texts: list[tuple[Stream, str]] = []
    token = _texts.set(texts)
    try:
        return function(*args)
    finally:
        _texts.reset(token)
        while texts:
            stream = texts[0][0]
            text = "".join(part for to, part in texts if to is stream)
            texts = [part for part in texts if part[0] is not stream]
            try:
                stream.write(Record.of(text, level, str(logger)))
            except Exception:
                pass  # the model closed it


def _collect(stream: Stream, text: str) -> bool:
    texts = _texts.get()
    if texts is None or not isinstance(text, str):
        return False
    texts.append((stream, text))
    return True
