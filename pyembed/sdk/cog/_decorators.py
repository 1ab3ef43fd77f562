"""Decorators that set how a predict function runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    _F = TypeVar("_F", bound=Callable[..., Any])
else:

    def overload(function: object) -> object:
        """Stand in for typing.overload, which costs an import of typing."""
        return function


STREAMING_ATTRIBUTE = "__cog_streaming__"
CONCURRENCY_ATTRIBUTE = "__cog_concurrency__"

_CO_ASYNC = 0x0080 | 0x0200  # CO_COROUTINE, CO_ASYNC_GENERATOR of the inspect module


@overload
def streaming(fn: _F) -> _F: ...
@overload
def streaming(fn: None = None) -> Callable[[_F], _F]: ...
def streaming(fn: _F | None = None) -> _F | Callable[[_F], _F]:
    """Allow clients to read this function's output item by item as it is made.

    The function must return an iterator; the check is made when the model is
    loaded. It works with and without parentheses.

    >>> from collections.abc import Iterator
    >>> from cog import BaseRunner, streaming
    >>> class Runner(BaseRunner):
    ...     @streaming
    ...     def run(self, n: int) -> Iterator[int]:
    ...         yield from range(n)
    """
    if fn is None:
        return _mark_streaming
    return _mark_streaming(fn)


def _mark_streaming(fn: _F) -> _F:
    if not callable(fn):
        raise TypeError(f"@streaming goes on a function, not on {type(fn).__name__}")
    setattr(fn, STREAMING_ATTRIBUTE, True)
    return fn


@overload
def concurrent(fn: _F, *, max: int = 1) -> _F: ...
@overload
def concurrent(fn: None = None, *, max: int = 1) -> Callable[[_F], _F]: ...
def concurrent(fn: _F | None = None, *, max: int = 1) -> _F | Callable[[_F], _F]:
    """Let up to max predictions run at once in one worker.

    Above 1 the function must be async: sync functions run one at a time on the
    main thread. Raises TypeError for that, and for a max that is not an int;
    ValueError for one below 1.

    >>> from cog import BaseRunner, concurrent
    >>> class Runner(BaseRunner):
    ...     @concurrent(max=8)
    ...     async def run(self, text: str) -> str:
    ...         return text
    """
    if isinstance(max, bool) or not isinstance(max, int):
        raise TypeError(f"concurrent: max must be an int, not {type(max).__name__}")
    if max < 1:
        raise ValueError(f"concurrent: max must be at least 1, not {max}")

    def mark(function: _F) -> _F:
        if not callable(function):
            raise TypeError(f"@concurrent goes on a function, not on {type(function).__name__}")
        if max > 1 and not _is_async(function):
            raise TypeError(
                f"concurrent: max={max} wants an async function; "
                f"{getattr(function, '__qualname__', 'this one')} is not"
            )
        setattr(function, CONCURRENCY_ATTRIBUTE, max)
        return function

    return mark if fn is None else mark(fn)


def _is_async(function: object) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _CO_ASYNC)
