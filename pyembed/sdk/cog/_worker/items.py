"""What iterators yield, as lists, where the front does not ask for it item by item."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable
    from typing import Any

_PLAIN = frozenset({str, int, float, bool, type(None)})


def collect(items: Iterable[Any], encode: Callable[..., Any]) -> list[Any]:
    """Return all items, each encoded as it comes.

    A model may remove or overwrite the file of one item before it yields the next.
    """
    result: list[Any] = []
    try:
        for item in items:
            if type(item) not in _PLAIN:
                item = encode(item, f"output[{len(result)}]")
            result.append(item)
    except BaseException:
        close = getattr(items, "close", None)
        if close is not None:  # its finally blocks run now, not when it is forgotten
            close()
        raise
    return result


async def collect_async(items: AsyncIterable[Any], encode: Callable[..., Any]) -> list[Any]:
    """Do the same with an async iterator."""
    result: list[Any] = []
    try:
        async for item in items:
            if type(item) not in _PLAIN:
                item = encode(item, f"output[{len(result)}]")
            result.append(item)
    except BaseException:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
        raise
    return result
