"""How many predictions a worker runs at once."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .load import Predictor

# Each thread has a stack, and more threads do not make Python faster.
MOST_THREADS = 256


def slots_problem(predictor: Predictor, wanted: int) -> tuple[str, str] | None:
    """Return why a function cannot run so many predictions at once, and what to do; or None."""
    if predictor.is_async or wanted <= 1:
        return None
    name = predictor.signature.name
    if predictor.plan is not None:
        return (
            f"a concurrency of {wanted} cannot be combined with @cog.batch on {name}, which is not "
            "async: one call takes a whole batch",
            "remove the concurrency, or write `async def`, which runs several batches at once, "
            f"or put @cog.batch on a method that {name} calls",
        )
    if wanted > MOST_THREADS:
        return (
            f"a concurrency of {wanted} is too high for {name}, which is not async: each "
            f"prediction takes a thread, and a worker has at most {MOST_THREADS}",
            "lower it and use more workers, or write `async def`",
        )
    return None
