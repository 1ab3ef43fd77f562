"""Arrays, tensors and their scalars as numbers, without importing their libraries."""

from __future__ import annotations

from .encode import Finished, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EXACT = "biuU"  # kinds of numpy dtypes whose items JSON always has: bool, int, str


def plain(value: Any) -> Any:
    """Return the content of an array: lists of numbers, or one number.

    It takes any object with dtype and tolist(): numpy's, torch's and similar
    ones. Raises Refused for complex numbers, bytes, and durations.
    """
    if type(value).__module__.partition(".")[0] == "torch":
        return _tensor(value)
    kind = getattr(value.dtype, "kind", "O")
    # A dtype with fields gives a tuple for each item, which becomes a list.
    if kind in "cSm" or (kind == "V" and not getattr(value.dtype, "names", None)):
        raise Refused(f" is an array of {value.dtype}, which JSON cannot hold")
    if kind == "M":
        # tolist() gives integers for units finer than microseconds.
        return value.astype("datetime64[us]").tolist()
    if kind == "f" and value.dtype.itemsize > 8:
        value = value.astype("float64")  # tolist() does not convert a long double
    content = value.tolist()
    if kind in _EXACT:
        return Finished(content)
    if kind == "f" and _all_finite(value):
        return Finished(content)
    # The caller checks each item, which finds the place of a NaN.
    return content


def _all_finite(value: Any) -> bool:
    """Return whether an array of floats has no NaN and no infinity; False if unknown."""
    import sys

    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
        return False
    # No mask: a masked item becomes None.
    return not hasattr(value, "mask") and bool(numpy.isfinite(value).all())


def _tensor(value: Any) -> Any:
    if value.is_complex():
        raise Refused(f" is a tensor of {value.dtype}, which JSON cannot hold")
    value = value.detach()
    if getattr(value, "is_sparse", False):
        value = value.to_dense()
    if not value.is_floating_point():
        return Finished(value.cpu().tolist())
    if value.element_size() < 2:
        value = value.float()  # few operations know the 8-bit floats
    content = value.cpu().tolist()
    return Finished(content) if bool(value.isfinite().all()) else content
