"""Models that several processes run together: `ranks` and `checkpoint`."""

from __future__ import annotations

from ._decorators import mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

MOST = 64

# What a worker that is a rank sets: counts a step, and raises where a cancel stops all ranks.
step: Callable[[], None] | None = None


def ranks(count: int) -> Callable[[_F], _F]:
    """Run this class or function in count processes at once, as ``torchrun`` would.

    Each finds its number in RANK and LOCAL_RANK, and count in WORLD_SIZE. All get the inputs of
    each prediction; the output is that of rank 0. ``ranks`` in cog.yaml says the same before the
    model is imported. Raises TypeError for a count that is not an int, ValueError for one below 1
    or above 64.

    >>> import cog
    >>> @cog.ranks(2)
    ... class Runner(cog.BaseRunner):
    ...     def run(self, text: str) -> str:
    ...         return text
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"ranks: the count must be an int, not {type(count).__name__}")
    if not 1 <= count <= MOST:
        raise ValueError(f"ranks: the count must be from 1 to {MOST}, not {count}")
    return lambda thing: mark(thing, "ranks", "__cog_ranks__", count)


def checkpoint() -> None:
    """Let a cancel stop the prediction here, on all ranks alike.

    Each rank must come here equally often. A canceled prediction then raises
    `CancelationException`, in an async function `asyncio.CancelledError`. An item that a
    generator yields is such a place too. Without ranks this does nothing: a cancel interrupts
    the prediction anywhere.

    >>> import cog
    >>> for step in range(3):
    ...     cog.checkpoint()
    """
    if step is not None:
        step()
