"""Iterator types that tell clients to show the output as one text."""

from __future__ import annotations

__all__ = ["AsyncConcatenateIterator", "ConcatenateIterator"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Aliases: a generator function may only return what a generator is, and
    # for a type checker these are iterators like any other.
    from collections.abc import AsyncIterator as AsyncConcatenateIterator
    from collections.abc import Iterator as ConcatenateIterator
else:
    # The runtime classes do without typing.Generic, whose module takes longer
    # to import than everything else here together.
    from _collections_abc import AsyncIterator, Iterator

    _subscript = classmethod(type(list[int]))

    class ConcatenateIterator(Iterator):
        """An iterator of strings whose items belong together as one text.

        >>> from cog import BaseRunner, ConcatenateIterator
        >>> class Runner(BaseRunner):
        ...     def run(self, prompt: str) -> ConcatenateIterator[str]:
        ...         yield from prompt.split()
        """

        __class_getitem__ = _subscript

    class AsyncConcatenateIterator(AsyncIterator):
        """The same for async generators.

        >>> from cog import AsyncConcatenateIterator, BaseRunner
        >>> class Runner(BaseRunner):
        ...     async def run(self, prompt: str) -> AsyncConcatenateIterator[str]:
        ...         for word in prompt.split():
        ...             yield word
        """

        __class_getitem__ = _subscript

    ConcatenateIterator.__module__ = "cog.types"
    AsyncConcatenateIterator.__module__ = "cog.types"
