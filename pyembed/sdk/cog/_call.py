"""Calls of other models that the same server has."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator
    from typing import Any, Protocol

    class AsyncCall(Protocol):
        """A call that runs once it is awaited, or iterated."""

        def __await__(self) -> Generator[Any, None, Any]: ...

        def __aiter__(self) -> AsyncIterator[Any]: ...


def call(model: str, /, **inputs: Any) -> Any:
    """Run another model of this server and return its output.

    Arrays of an output are arrays, files are paths, which can be read while this prediction runs.
    If the other model yields, the items come from an iterator as it yields them. Inputs may be
    what JSON has, arrays, paths, file objects and bytes, which are a file. An iterator gives its
    items to a streamed input while the other model answers.

    Raises `CallError` with the error of the other model. In async code use `call_async`.

    >>> import cog
    >>> def run(text: str) -> float:
    ...     vector = cog.call("embed", text=text)
    ...     return float(vector[0])
    """
    from ._worker.calls import Call

    return Call("call", model, inputs).run()


def call_async(model: str, /, **inputs: Any) -> AsyncCall:
    """Return a call as `call` makes it, to be awaited, or iterated with ``async for``.

    The items of a model that yields are a list to ``await``. An input may be an iterator, also
    an async one.

    >>> import cog
    >>> async def run(text: str) -> float:
    ...     vector = await cog.call_async("embed", text=text)
    ...     return float(vector[0])
    """
    from ._worker.calls import Call

    return Call("call_async", model, inputs)
