"""What the result and the exception of one batched call mean for its items."""

from __future__ import annotations

from ...errors import OutputError
from .. import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    _T = TypeVar("_T")

_NO_LIST = (str, bytes, bytearray, memoryview, dict, set, frozenset)


class CallRules:
    """The rules of a batched function.

    isolate  whether a part that raised runs again in halves
    fatal    texts of errors after which this worker must run nothing
    to_cpu   whether an array's elements are the outputs: a GPU's is copied once
    """

    def __init__(self, isolate: bool, fatal: tuple[str, ...] = (), to_cpu: bool = False) -> None:
        self.isolate = isolate
        self._fatal = fatal
        self._to_cpu = to_cpu

    def elements(self, result: Any, count: int) -> Sequence[Any]:
        """Return the elements of a result; raise OutputError unless there are count."""
        if type(result) is not list and type(result) is not tuple:
            return self._of_other(result, count)
        elements = list(result)  # the model may change its list meanwhile
        if len(elements) != count:
            raise OutputError(_length(len(elements), count))
        return elements

    def _of_other(self, result: Any, count: int) -> list[Any]:
        has = getattr(type(result), "__len__", None) and hasattr(result, "__getitem__")
        if not has or isinstance(result, _NO_LIST):
            kind = "None" if result is None else type(result).__qualname__
            raise OutputError(
                f"output must be a list of {count} elements, got {kind}; a function with @batch "
                "returns one element for each prediction"
            )
        try:
            length = len(result)
        except TypeError as exc:  # an array without a dimension
            raise OutputError(f"output must have {count} elements, got a 0-d array") from exc
        if length != count:
            raise OutputError(_length(length, count))
        if self._to_cpu and hasattr(result, "is_cuda") and hasattr(result, "cpu"):
            result = result.cpu()  # one copy instead of one for each element
        return [result[i] for i in range(count)]

    def is_fatal(self, error: BaseException) -> bool:
        """Return whether this worker must run nothing after an error."""
        if not self._fatal or not issubclass(type(error), Exception):
            return False
        text = errors.one_line(error)
        return any(each in text for each in self._fatal)

    def halves(self, part: list[_T], error: BaseException) -> list[list[_T]] | None:
        """Return the halves of a part that raised, the last first; None if they must not run.

        An OutputError is a defect of the function: halves of the part would fail too.
        """
        if len(part) < 2 or not self.isolate or issubclass(type(error), OutputError):
            return None
        if not issubclass(type(error), Exception) or self.is_fatal(error):
            return None
        half = len(part) // 2
        return [part[half:], part[:half]]


def _length(got: int, wanted: int) -> str:
    return (
        f"output must have {wanted} elements, got {got}; a function with @batch returns "
        "one element for each prediction, in the same order"
    )
