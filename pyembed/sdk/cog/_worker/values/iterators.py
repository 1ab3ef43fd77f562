"""Collects the items of iterators, and converts other values to a list or iterable."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable
    from typing import Any

    from ..model.load import Predictor

    Convert = Callable[[Any, Callable[..., Any]], Any]

_PLAIN = frozenset({str, int, float, bool, type(None)})


def collect(items: Iterable[Any], encode: Callable[..., Any]) -> list[Any]:
    """Return all items, each encoded as it comes.

    A model may remove or overwrite the file of one item, or write to its array, before it yields
    the next.
    """
    encode = getattr(encode, "encode_item", encode)
    result: list[Any] = []
    try:
        for item in items:
            if type(item) not in _PLAIN:
                item = encode(item, f"output[{len(result)}]")
            result.append(item)
    except BaseException:
        close = getattr(items, "close", None)
        if close is not None:  # run its finally blocks now, not when it is collected
            close()
        raise
    return result


async def collect_async(items: AsyncIterable[Any], encode: Callable[..., Any]) -> list[Any]:
    """Do the same with an async iterator."""
    encode = getattr(encode, "encode_item", encode)
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


def converter(predictor: Predictor) -> Convert | None:
    """Return what converts an output to the list or iterable of its type; None if not needed.

    As in Cog, a single value becomes a list of one item, and None an empty list.
    """
    from ..schema.types import Listing, Stream

    if not predictor.returns_items:
        return None
    output = predictor.signature.output
    if isinstance(output, Stream):
        return listed if predictor.is_async else iterable
    return listed if isinstance(output, Listing) else None


def listed(value: Any, encode: Callable[..., Any]) -> list[Any]:
    """Return a value as a list.

    >>> [listed(value, lambda v: v) for value in ([1], "ab", None, iter("ab"))]
    [[1], ['ab'], [], ['a', 'b']]
    """
    if value is None:
        return []
    if hasattr(value, "__next__") and not hasattr(value, "read"):
        return collect(value, encode)
    plain = encode(value)
    return plain if type(plain) is list or hasattr(plain, "array") else [plain]  # a Tensor


def iterable(value: Any, encode: Callable[..., Any]) -> Iterable[Any]:
    """Return an iterable for a value that was returned instead of an iterator."""
    if value is None:
        return ()
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        return (value,)
    return value  # type: ignore[no-any-return]
