"""The decorator @batch and its options."""

from __future__ import annotations

from ._decorators import flags_of, mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

BATCH_ATTRIBUTE = "__cog_batch__"

LARGEST_SIZE = 4096  # the front's runtime/batch has the same
MOST_WORKERS = 64

_CO_GENERATOR, _CO_ASYNC_GENERATOR = 0x20, 0x200


class BatchOptions:
    """The options of `batch`.

    max_size     the largest batch
    max_wait_ms  how long an idle worker may wait for a larger batch, in
                 milliseconds; None is adaptive
    isolate      whether a batch that raises runs again in halves, so that
                 only the predictions at fault fail
    workers      number of threads that run preprocess and postprocess
    """

    __slots__ = ("isolate", "max_size", "max_wait_ms", "workers")

    def __init__(
        self,
        max_size: int,
        max_wait_ms: float | None = None,
        isolate: bool = True,
        workers: int = 2,
    ) -> None:
        _check_int("max_size", max_size, LARGEST_SIZE)
        _check_int("workers", workers, MOST_WORKERS)
        if max_wait_ms is not None:
            if isinstance(max_wait_ms, bool) or not isinstance(max_wait_ms, (int, float)):
                raise TypeError(
                    f"batch: max_wait_ms must be a number or None, not {type(max_wait_ms).__name__}"
                )
            if not 0 <= max_wait_ms < float("inf"):
                raise ValueError(f"batch: max_wait_ms must be 0 or more, not {max_wait_ms}")
        if not isinstance(isolate, bool):
            raise TypeError(f"batch: isolate must be a bool, not {type(isolate).__name__}")
        self.max_size = max_size
        self.max_wait_ms = max_wait_ms
        self.isolate = isolate
        self.workers = workers

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"BatchOptions({options})"


def _check_int(name: str, value: object, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"batch: {name} must be an int, not {type(value).__name__}")
    if not 1 <= value <= most:
        raise ValueError(f"batch: {name} must be between 1 and {most}, not {value}")


def batch(
    *, max_size: int, max_wait_ms: float | None = None, isolate: bool = True, workers: int = 2
) -> Callable[[_F], _F]:
    """Run up to max_size predictions as a batch, in one call.

    A parameter annotated `list[T]` is batched: each prediction brings one T.
    All other parameters are equal in a batch. The function returns one result
    for each prediction, in the same order; an element that is an exception
    fails that prediction alone.

    Raises TypeError and ValueError for invalid options, and TypeError for a
    generator, whose output belongs to one prediction.

    >>> from cog import BaseRunner, batch
    >>> class Runner(BaseRunner):
    ...     @batch(max_size=32)
    ...     def run(self, text: list[str], upper: bool = True) -> list[str]:
    ...         return [t.upper() if upper else t for t in text]
    >>> Runner().run(["a", "b"])
    ['A', 'B']
    """
    options = BatchOptions(max_size, max_wait_ms, isolate, workers)

    def marked(function: _F) -> _F:
        if flags_of(function) & (_CO_GENERATOR | _CO_ASYNC_GENERATOR):
            raise TypeError(
                f"batch: {getattr(function, '__qualname__', 'the function')} yields; a batched "
                "function returns a list, so take @batch or the yield away"
            )
        return mark(function, "batch", BATCH_ATTRIBUTE, options)

    return marked
