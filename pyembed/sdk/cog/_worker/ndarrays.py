"""Inputs that are numpy arrays: what their annotation means, and how lists become them.

Lists of numbers come from `_px` as (data, shape), without an object for each number, and are
wrapped. What `_px` has left as lists, because something in it is unusual or wrong, is gone through
here, where the error finds its place. numpy is the model's own; nothing here imports it.
"""

from __future__ import annotations

import sys

from .kinds import Array, Unsupported, strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .signature import Signature

# Classes of numpy's scalars, and the dtype that numbers become for them; "": whatever they are.
_DTYPES = {
    **{name: name for name in ("float16", "float32", "float64", "bool")},
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool_": "bool",
    "longlong": "int64",
    "ulonglong": "uint64",
    "floating": "float64",
    "inexact": "float64",
    "integer": "int64",
    "signedinteger": "int64",
    "unsignedinteger": "uint64",
    "number": "",
    "generic": "",
}
# As the module struct names them; the others are gone through here.
_CODES = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float32": "f",
    "float64": "d",
}


class ArrayError(ValueError):
    """A value that is no array of its type; the text goes behind the input's name."""


def read_kind(name: str, args: tuple[Any, ...]) -> Array:
    """Return the kind of `numpy.ndarray[shape, dtype]`, of which either may be absent or Any."""
    shape, dtype = (*args, None, None)[:2]
    scalar = (getattr(dtype, "__args__", None) or (None,))[0]
    item = (
        scalar.__name__ if isinstance(scalar, type) and scalar.__module__ == "numpy" else "number"
    )
    if item not in _DTYPES:
        raise Unsupported(
            f"{name}: JSON has no {item}; use bool, or one of the types of whole numbers "
            "and floats of up to 64 bits"
        )
    lengths = getattr(shape, "__args__", None)
    if getattr(shape, "__origin__", None) is not tuple or not lengths or Ellipsis in lengths:
        lengths = None
    return Array(name, _DTYPES[item], len(lengths) if lengths else 0)


def codes(signature: Signature) -> dict[str, str]:
    """Return the inputs that `_px` can read as (data, shape), and what their arrays hold."""
    kinds = ((field.name, strip(field.kind)) for field in signature.inputs)
    return {n: _CODES[k.dtype] for n, k in kinds if isinstance(k, Array) and k.dtype in _CODES}


def converter(kind: Array) -> Callable[[Any], Any]:
    """Return the function that makes a value the array that is declared, or raises ArrayError."""
    numpy: Any = sys.modules["numpy"]
    ndarray = numpy.ndarray
    dtype = numpy.dtype(kind.dtype) if kind.dtype else None
    dimensions = kind.dimensions

    def convert(value: Any) -> Any:
        if type(value) is tuple and (not dimensions or len(value[1]) == dimensions):
            return ndarray(value[1], dtype, value[0])
        if isinstance(value, ndarray):
            return value
        if type(value) is tuple:
            raise ArrayError(_dimensions(len(value[1]), dimensions))
        return _array(numpy, value, dtype, dimensions)

    return convert


def mismatch(kind: Array, value: Any) -> str:
    """Return how a default fails its type, or ""."""
    if hasattr(value, "dtype"):
        return "is an array; write its content as a list"
    if not isinstance(value, list):
        return f"is not of type {kind.name}"
    if "numpy" not in sys.modules:  # the source alone is read
        return ""
    try:
        converter(kind)(value)
    except ArrayError as exc:
        return str(exc)
    return ""


def _dimensions(got: int, wanted: int) -> str:
    return f"has {got} dimension{'s' * (got != 1)} instead of {wanted}"


def _array(numpy: Any, value: Any, dtype: Any, dimensions: int) -> Any:
    shape = _shape(value)
    if dimensions and len(shape) != dimensions:
        raise ArrayError(_dimensions(len(shape), dimensions))
    numbers: list[Any] = []
    _gather(value, shape, 0, "", numbers)
    if dtype is None:
        dtype = numpy.dtype(_common(numbers))
    exact = [_fit(numpy, number, dtype, i, shape) for i, number in enumerate(numbers)]
    with numpy.errstate(over="ignore"):
        result = numpy.array(exact, dtype).reshape(shape)
    if dtype.kind == "f" and not numpy.isfinite(result).all():
        at = int(numpy.argmin(numpy.isfinite(result.ravel())))
        raise ArrayError(f"{_at(at, shape)} is too large for {dtype}")
    return result


def _shape(value: Any) -> tuple[int, ...]:
    shape = []
    while type(value) is list:
        shape.append(len(value))
        value = value[0] if value else None
    if not shape:
        raise ArrayError("is not a list")
    if len(shape) > 32:
        raise ArrayError("has more than 32 dimensions")
    return tuple(shape)


def _gather(value: Any, shape: tuple[int, ...], level: int, place: str, numbers: list[Any]) -> None:
    """Add the numbers of a list that is so many lists deep."""
    if type(value) is not list:
        raise ArrayError(f"{place} is {_show(value)} and not a list")
    if len(value) != shape[level]:
        raise ArrayError(
            f"{place} has {len(value)} element{'s' * (len(value) != 1)} instead of {shape[level]}"
        )
    if level == len(shape) - 1:
        for i, number in enumerate(value):
            if not isinstance(number, (int, float)):
                raise ArrayError(f"{place}[{i}] is {_show(number)} and not a number")
        numbers += value
        return
    for i, item in enumerate(value):
        _gather(item, shape, level + 1, f"{place}[{i}]", numbers)


def _common(numbers: list[Any]) -> str:
    """Return the dtype of numbers where none is declared."""
    types = {type(number) for number in numbers}
    if types == {bool}:
        return "bool"
    return "int64" if types == {int} else "float64"


def _fit(numpy: Any, number: Any, dtype: Any, at: int, shape: tuple[int, ...]) -> Any:
    """Return a number as one that the dtype has."""
    if (dtype.kind == "b") is not isinstance(number, bool):
        wanted = "true or false" if dtype.kind == "b" else "a number"
        raise ArrayError(f"{_at(at, shape)} is {_show(number)} and not {wanted}")
    if dtype.kind == "f":
        try:
            return float(number)
        except OverflowError:
            raise ArrayError(f"{_at(at, shape)} is too large for {dtype}") from None
    if dtype.kind == "b":
        return number
    if isinstance(number, float):
        if not number.is_integer():
            raise ArrayError(f"{_at(at, shape)} is {number!r} and not a whole number")
        number = int(number)
    limits = numpy.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise ArrayError(f"{_at(at, shape)} is {_show(number)}, out of the range of {dtype}")
    return number


def _at(index: int, shape: tuple[int, ...]) -> str:
    """Return the place of a number: of the sixth of 2 x 3, `[1][2]`."""
    place = ""
    for length in reversed(shape):
        index, last = divmod(index, length)
        place = f"[{last}]{place}"
    return place


def _show(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "…"
