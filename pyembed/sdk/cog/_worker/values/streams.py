"""Streamed inputs as the model gets them: iterators over items that are there or still come."""

from __future__ import annotations

from ..schema.types import AsyncStreamed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..schema.types import Streamed

_CHUNK = 64 << 10  # bytes of a file that are one item


def opener(kind: Streamed, convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """Return the function that makes the iterator of a streamed input.

    It gets the items as a list, already converted, or the path of a file, whose content is
    the items, or None: they come while the model runs, and convert, if not None, converts them.
    """
    is_async = isinstance(kind, AsyncStreamed)

    def iterate(value: Any) -> Any:
        if value is None:
            from . import live

            return (live.AsyncItems if is_async else live.Items)(kind, convert)
        items = iter(value) if type(value) is list else _chunks(value)
        return Async(items) if is_async else items

    return iterate


class Async:
    """An async iterator over items that are there."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def __aiter__(self) -> Async:
        return self

    async def __anext__(self) -> Any:
        for item in self._items:
            return item
        raise StopAsyncIteration


def _chunks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while True:
            chunk = file.read(_CHUNK)
            if not chunk:
                return
            yield chunk


def decoded(text: Any) -> bytes:
    """Return the bytes that base64 text or a data URL stands for.

    >>> decoded("aGk="), decoded("data:text/plain,h%69")
    (b'hi', b'hi')
    """
    if isinstance(text, bytes):
        return text
    if text[:1] == "\0":  # the front puts this before the path of a file that came with the request
        with open(text[1:], "rb") as file:
            return file.read()
    if text[:5].lower() == "data:":
        head, _, text = text.partition(",")
        if not head.lower().endswith(";base64"):
            from urllib.parse import unquote_to_bytes

            return unquote_to_bytes(text)
    from binascii import a2b_base64

    return a2b_base64(text)
