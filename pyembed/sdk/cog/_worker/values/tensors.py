"""Arrays of an output that the front gets as bytes, not as lists of numbers."""

from __future__ import annotations

import sys

from . import encode as plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .encode import Store

# Codes of the module struct for numpy's kinds and sizes.
_CODES = {
    **{("u", size): code for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
    **{("i", size): code for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{("f", size): code for size, code in ((2, "e"), (4, "f"), (8, "d"))},
    ("b", 1): "?",
}

_PLAIN = frozenset({str, int, float, bool, type(None)})


class Tensor:
    """An array of an output. It stays whole where other values become lists."""

    __slots__ = ("array", "code")

    def __init__(self, array: Any, code: str) -> None:
        self.array = array
        self.code = code


def storing(store: Store) -> Callable[..., Any]:
    """Return `encode` that gives each file to store, and writes what that returns in its place."""

    def encode_storing(value: Any, place: str = "output") -> Any:
        return encode(value, place, store)

    encode_storing.any_number = True  # type: ignore[attr-defined]
    return encode_storing


def encode(value: Any, place: str = "output", store: Store | None = None) -> Any:
    """Return value as JSON data, but an array as a Tensor.

    A Tensor becomes what `_px` writes in binary: (owner, address, size, shape, code). Members of an
    object are encoded one by one, so that its arrays come here.
    """
    if type(value) is Tensor:
        array = value.array
        address = array.__array_interface__["data"][0]
        return (array, address, array.nbytes, array.shape, value.code)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray) and not hasattr(value, "mask"):
        code = _CODES.get((value.dtype.kind, value.dtype.itemsize))
        if code is not None and value.ndim > 0:
            return Tensor(numpy.ascontiguousarray(value, value.dtype.newbyteorder("<")), code)
    members = plain.members(value)
    return plain.encode(value, place, store) if members is None else members


def encode_item(value: Any, place: str = "output") -> Any:
    """Return what encode does, of an item of an iterator.

    The model may write to the item's arrays before the answer is written, so they are copied.
    """
    members = plain.members(value)
    if members is not None:
        return _copied(members, place)
    result = encode(value, place)
    return _copied(result, place) if type(result) is Tensor else result


def _copied(value: Any, place: str) -> Any:
    """Return a value that may hold arrays and a model's objects, with all of them copied."""
    kind = type(value)
    if kind is Tensor:
        return Tensor(value.array.copy(), value.code)
    if kind is dict:
        return {name: _copied(item, f"{place}.{name}") for name, item in value.items()}
    if kind is list:
        return [_copied(item, f"{place}[{i}]") for i, item in enumerate(value)]
    return value if kind in _PLAIN else encode_item(value, place)


encode.encode_item = encode_item  # type: ignore[attr-defined]
encode.any_number = True  # type: ignore[attr-defined]  # `_px` then writes NaN and infinities in binary
