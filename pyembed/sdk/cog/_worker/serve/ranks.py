"""Serving as one rank of a group, which stops a canceled prediction at a step of all ranks.

A step is the start of the function, each item that it yields, and `cog.checkpoint`. `_px.step`
counts them.
"""

from __future__ import annotations

import _px

from ... import _ranks
from ...exceptions import CancelationException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any

    from ..model.load import Predictor


def follow(predictors: tuple[Predictor | None, ...], rank: int) -> None:
    """Make the functions of a model those of a rank."""
    _px.use_steps()
    for predictor in predictors:
        if predictor is not None:
            predictor.function = _Function(predictor, rank)
    main: Any = predictors[0] or predictors[1]
    cancel = _cancel_of(main)

    def step() -> None:
        if _px.step():
            raise cancel("the prediction was canceled")

    _ranks.step = step


def _cancel_of(predictor: Predictor) -> type[BaseException]:
    if not predictor.is_async:
        return CancelationException
    from asyncio import CancelledError

    return CancelledError


class _Function:
    """A function of the model, called as before.

    Only rank 0 gives its output back: another may have none, such as a file that rank 0 alone
    writes. So those of the others are read to their end and dropped.
    """

    def __init__(self, predictor: Predictor, rank: int) -> None:
        self.__wrapped__ = predictor.function
        plan = predictor.plan
        # A postprocess gets what the function made, on each rank.
        self._drops = rank > 0 and (plan is None or plan.postprocess is None)
        self._batched = plan.batched if plan is not None else None
        self._cancel = _cancel_of(predictor)

    def __call__(self, **inputs: Any) -> Any:
        """Run the function: its first step comes before it."""
        if _px.step():
            raise self._cancel("the prediction was canceled")
        value = self.__wrapped__(**inputs)
        if hasattr(value, "__await__"):
            return self._awaited(value, inputs)
        if hasattr(value, "__aiter__"):
            items = self._async_items(value)
            return _nothing(items) if self._drops else items
        return self._result(value, inputs)

    def _result(self, value: Any, inputs: dict[str, Any]) -> Any:
        if hasattr(value, "__next__") and not hasattr(value, "read"):
            value = self._items(value)
        if not self._drops:
            return value
        if hasattr(value, "__next__"):
            for _ in value:
                pass
            value = ()
        if self._batched is None:
            return () if value == () else None
        return [None] * len(inputs[self._batched[0]])

    async def _awaited(self, value: Any, inputs: dict[str, Any]) -> Any:
        value = await value
        if hasattr(value, "__aiter__"):
            items = self._async_items(value)
            return _nothing(items) if self._drops else items
        return self._result(value, inputs)

    def _items(self, iterator: Any) -> Iterator[Any]:
        """Yield the items; a cancel is raised where the model yields, as at any statement."""
        try:
            for item in iterator:
                yield item
                while _px.step():
                    throw = getattr(iterator, "throw", None)
                    error = self._cancel("the prediction was canceled")
                    if throw is None:
                        raise error
                    try:
                        yield throw(error)
                    except StopIteration:
                        return
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    async def _async_items(self, iterable: Any) -> AsyncIterator[Any]:
        iterator = iterable.__aiter__()
        try:
            async for item in iterator:
                yield item
                while _px.step():
                    throw = getattr(iterator, "athrow", None)
                    error = self._cancel("the prediction was canceled")
                    if throw is None:
                        raise error
                    try:
                        yield await throw(error)
                    except StopAsyncIteration:
                        return
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                await close()


async def _nothing(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for _ in items:
        pass
    return
    yield
