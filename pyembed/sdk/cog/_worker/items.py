"""What iterators yield, as lists, where the front does not ask for it item by item.

And what a function returns in place of the list or the iterator that it promises.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable
    from typing import Any

    from .load import Predictor

    Settle = Callable[[Any, Callable[..., Any]], Any]

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


def settler(predictor: Predictor) -> Settle | None:
    """Return what makes a list, or an iterable, of what the function returns, as its type says.

    Cog goes by the schema: where it has a list, a single value is a list of one, None an empty one.
    """
    from .kinds import Listing, Stream

    if not predictor.returns_items:
        return None
    output = predictor.signature.output
    if isinstance(output, Stream):
        return listed if predictor.is_async else iterable
    return listed if isinstance(output, Listing) else None


def listed(value: Any, encode: Callable[..., Any]) -> list[Any]:
    """Return the list that a value stands for.

    >>> [listed(value, lambda v: v) for value in ([1], "ab", None, iter("ab"))]
    [[1], ['ab'], [], ['a', 'b']]
    """
    if value is None:
        return []
    if hasattr(value, "__next__") and not hasattr(value, "read"):
        return collect(value, encode)
    plain = encode(value)
    return plain if type(plain) is list else [plain]


def iterable(value: Any, encode: Callable[..., Any]) -> Iterable[Any]:
    """Return what to iterate over for a value that was returned in place of an iterator."""
    if value is None:
        return ()
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        return (value,)
    return value  # type: ignore[no-any-return]
