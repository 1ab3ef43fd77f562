"""Arrays, tensors and their scalars as numbers, without importing their libraries."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EXACT = "biuU"  # kinds of numpy dtypes whose items always fit JSON: bool, int, str


class NotPlain(Exception):
    """Items that JSON cannot hold."""


def plain(value: Any) -> tuple[Any, bool]:
    """Return an array's numbers as nested lists, or a scalar's number, and whether all fit JSON.

    It takes any object with dtype and tolist(): numpy's, torch's and similar
    ones. Raises NotPlain for complex numbers, bytes, and durations.
    """
    if type(value).__module__.partition(".")[0] == "torch":
        return _tensor(value)
    kind = getattr(value.dtype, "kind", "O")
    if kind in "cSm" or (kind == "V" and _is_raw(value.dtype)):
        raise NotPlain(f" is an array of {value.dtype}, which JSON cannot hold")
    if kind == "M":
        # tolist() gives integers for units finer than microseconds.
        return value.astype("datetime64[us]").tolist(), False
    if kind == "f" and value.dtype.itemsize > 8:
        value = value.astype("float64")  # tolist() does not convert a long double
    # If not all are finite, the caller checks each item, which finds the place of a NaN.
    return value.tolist(), kind in _EXACT or (kind == "f" and _all_finite(value))


def _is_raw(dtype: Any) -> bool:
    """Return whether items of a dtype of kind V are bytes.

    Those with fields give a tuple for each item, which becomes a list. Those of other packages,
    such as bfloat16 and int4 of ml_dtypes, give numbers.
    """
    return bool(dtype.type.__name__ == "void" and not dtype.names)


def _all_finite(value: Any) -> bool:
    """Return whether an array of floats has no NaN and no infinity; False if unknown."""
    import sys

    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
        return False
    # No mask: a masked item becomes None.
    return not hasattr(value, "mask") and bool(numpy.isfinite(value).all())


def _tensor(value: Any) -> tuple[Any, bool]:
    if value.is_complex():
        raise NotPlain(f" is a tensor of {value.dtype}, which JSON cannot hold")
    value = value.detach()
    if getattr(value, "is_sparse", False):
        value = value.to_dense()
    if not value.is_floating_point():
        return value.cpu().tolist(), True
    if value.element_size() < 2:
        value = value.float()  # few operations support 8-bit floats
    return value.cpu().tolist(), bool(value.isfinite().all())
