"""Inputs that are numpy arrays: their annotations, and the conversion of lists.

`_px` reads plain lists of numbers as (data, shape), without an object for each number. It leaves
unusual or invalid ones as lists, which are converted here; an error names its place. A tensor that
came in binary is (data, shape, code). Nothing here imports numpy, which the model has imported.
"""

from __future__ import annotations

import sys

from ..schema.typeforms import arguments, origin_of, qualified, show
from ..schema.types import Array, Kind, Listing, Mapping, Nullable, Record, Unsupported, strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..schema.signature import Signature

# Classes of scalars, and the dtype of their arrays; "" for any.
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
_BUILTIN = {float: "float64", int: "int64", bool: "bool"}
# Codes of the module struct. Other dtypes are converted here.
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
    """A value that is not an array of its type; the text follows the value's name and place."""


def read_kind(annotation: object, resolve: Callable[[Any], Any]) -> Array:
    """Return the kind of `numpy.ndarray[shape, dtype]`; each part may be absent or Any.

    resolve evaluates quotes and aliases.
    """
    name = show(annotation)
    args = [resolve(arg) for arg in arguments(annotation)]
    shape, dtype = (*args, None, None)[:2]
    if getattr(shape, "__origin__", shape) not in (None, tuple, int) and not _is_unspecified(shape):
        raise Unsupported(f"{name}: invalid shape {show(shape)}; write numpy.typing.NDArray[...]")
    return Array(name, _dtype(name, dtype, resolve), _dimensions_of(shape))


def _is_unspecified(part: object) -> bool:
    return part is None or part is object or show(part) == "Any" or _is_variable(part)


def _is_variable(part: object) -> bool:
    name = type(part).__name__
    unpacked = "Unpack" in name or getattr(part, "__unpacked__", False)  # *tuple[int, ...]
    return bool(unpacked) or name in ("TypeVar", "TypeVarTuple")


def _dimensions_of(shape: object) -> int:
    lengths = arguments(shape)
    if origin_of(shape) is not tuple or not lengths:
        return 0
    if any(length is Ellipsis or _is_variable(length) for length in lengths):
        return 0
    return len(lengths)


def _dtype(name: str, dtype: object, resolve: Callable[[Any], Any]) -> str:
    if _is_unspecified(dtype):
        return ""
    origin: Any = getattr(dtype, "__origin__", dtype)
    if not isinstance(origin, type) or qualified(origin) != "numpy.dtype":
        raise Unsupported(f"{name}: invalid dtype {show(dtype)}; write numpy.typing.NDArray[...]")
    scalar = resolve((*arguments(dtype), None)[0])
    if _is_unspecified(scalar):
        return ""
    scalar = getattr(scalar, "__origin__", scalar)  # floating[Any]
    if isinstance(scalar, type):
        dtype = _BUILTIN.get(scalar)
        if scalar.__module__ == "numpy":
            dtype = _DTYPES.get(scalar.__name__)
        if dtype is not None:
            return dtype
    raise Unsupported(
        f"{name}: {show(scalar)} cannot come from JSON; use numpy.bool_, or an integer or "
        "float type of up to 64 bits"
    )


def codes(signature: Signature) -> dict[str, str]:
    """Return the inputs that `_px` can read as (data, shape), with their codes."""
    kinds = ((field.name, strip(field.kind)) for field in signature.inputs)
    return {n: _CODES[k.dtype] for n, k in kinds if isinstance(k, Array) and k.dtype in _CODES}


def converter(kind: Array) -> Callable[[Any], Any]:
    """Return the function that converts a value to the declared array, or raises ArrayError."""
    numpy: Any = sys.modules["numpy"]
    ndarray = numpy.ndarray
    dtype = numpy.dtype(kind.dtype) if kind.dtype else None
    dimensions = kind.dimensions

    def convert(value: Any) -> Any:
        if type(value) is tuple and (not dimensions or len(value[1]) == dimensions):
            if len(value) == 2:
                return ndarray(value[1], dtype, value[0])
            array = ndarray(value[1], f"<{value[2]}", value[0])
            if dtype is None or array.dtype == dtype:
                return array
            if not numpy.can_cast(array.dtype, dtype, "same_kind"):
                raise ArrayError(f"must be an array of {dtype}, got {array.dtype}")
            return array.astype(dtype)
        if isinstance(value, ndarray):
            return value
        if type(value) is tuple:
            raise ArrayError(_dimensions(len(value[1]), dimensions))
        return _array(numpy, value, dtype, dimensions)

    return convert


def fault(kind: Kind, value: Any, place: str = "") -> str:
    """Return the place and fault of the first invalid array in a value, or ""."""
    if isinstance(kind, Array):
        try:
            converter(kind)(value)
        except ArrayError as exc:
            text = str(exc)
            return place + text if text.startswith("[") else f"{place} {text}".lstrip()
        return ""
    parts: list[tuple[Kind, Any, str]] = []
    if value is None:
        return ""
    if isinstance(kind, Nullable):
        parts = [(kind.inner, value, "")]
    elif isinstance(kind, Listing):
        parts = [(kind.inner, item, f"[{i}]") for i, item in enumerate(value)]
    elif isinstance(kind, Mapping):
        parts = [(kind.inner, item, f"[{key!r}]") for key, item in value.items()]
    elif isinstance(kind, Record):
        parts = [(m.kind, value[m.name], f"[{m.name!r}]") for m in kind.members if m.name in value]
    faults = (fault(inner, item, place + more) for inner, item, more in parts)
    return next((text for text in faults if text), "")


def mismatch(kind: Array, value: Any) -> str:
    """Return why a default does not fit its type, or ""."""
    if hasattr(value, "dtype"):
        return "is an array; write its content as a list"
    if not isinstance(value, list):
        return f"is not of type {kind.name}"
    if "numpy" not in sys.modules:  # the source is read without an import
        return ""
    try:
        converter(kind)(value)
    except ArrayError as exc:
        return str(exc)
    return ""


def _dimensions(got: int, wanted: int) -> str:
    return f"must have {wanted} dimension{'s' * (wanted != 1)}, got {got}"


def _array(numpy: Any, value: Any, dtype: Any, dimensions: int) -> Any:
    shape = _shape(value)
    if dimensions and len(shape) != dimensions:
        raise ArrayError(_dimensions(len(shape), dimensions))
    numbers: list[Any] = []
    _gather(value, shape, 0, "", numbers)
    if dtype is None:
        dtype = numpy.dtype(_common(numbers))
    if not _all_fit(numpy, numbers, dtype):
        numbers = [_fit(numpy, number, dtype, i, shape) for i, number in enumerate(numbers)]
    with numpy.errstate(over="ignore"):
        result = numpy.array(numbers, dtype).reshape(shape)
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
        raise ArrayError("must be a list")
    if len(shape) > 32:
        raise ArrayError("must have at most 32 dimensions")
    return tuple(shape)


def _gather(value: Any, shape: tuple[int, ...], level: int, place: str, numbers: list[Any]) -> None:
    """Append the numbers of a nested list."""
    if type(value) is not list:
        raise ArrayError(f"{place} must be a list, got {_show(value)}")
    if len(value) != shape[level]:
        raise ArrayError(
            f"{place} must have {shape[level]} element{'s' * (shape[level] != 1)}, got {len(value)}"
        )
    if level == len(shape) - 1:
        for i, number in enumerate(value):
            if not isinstance(number, (int, float)):
                raise ArrayError(f"{place}[{i}] must be a number, got {_show(number)}")
        numbers += value
        return
    for i, item in enumerate(value):
        _gather(item, shape, level + 1, f"{place}[{i}]", numbers)


def _common(numbers: list[Any]) -> str:
    """Return the dtype for numbers if none is declared."""
    types = {type(number) for number in numbers}
    if types == {bool}:
        return "bool"
    return "int64" if types == {int} else "float64"


def _all_fit(numpy: Any, numbers: list[Any], dtype: Any) -> bool:
    """Return whether numpy converts all numbers correctly; False if each must be checked."""
    types = set(map(type, numbers))
    if dtype.kind == "b" or not numbers:
        return types <= {bool}
    if dtype.kind == "f":
        return types <= {int, float} and min(numbers) > -1e300 and max(numbers) < 1e300
    limits = numpy.iinfo(dtype)
    return types == {int} and bool(limits.min <= min(numbers) and max(numbers) <= limits.max)


def _fit(numpy: Any, number: Any, dtype: Any, at: int, shape: tuple[int, ...]) -> Any:
    """Return a number as a value of the dtype."""
    if (dtype.kind == "b") is not isinstance(number, bool):
        wanted = "true or false" if dtype.kind == "b" else "a number"
        raise ArrayError(f"{_at(at, shape)} must be {wanted}, got {_show(number)}")
    if dtype.kind == "f":
        if number != number:
            raise ArrayError(f"{_at(at, shape)} must be a number, got nan")
        try:
            return float(number)
        except OverflowError:
            raise ArrayError(f"{_at(at, shape)} is too large for {dtype}") from None
    if dtype.kind == "b":
        return number
    if isinstance(number, float):
        if not number.is_integer():
            raise ArrayError(f"{_at(at, shape)} must be a whole number, got {number!r}")
        number = int(number)
    limits = numpy.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise ArrayError(f"{_at(at, shape)} must be in the range of {dtype}, got {_show(number)}")
    return number


def _at(index: int, shape: tuple[int, ...]) -> str:
    """Return the place of a number: `[1][2]` for the sixth of 2 x 3."""
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
