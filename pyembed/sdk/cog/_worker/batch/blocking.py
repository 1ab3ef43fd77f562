"""Batches of the methods that predictions on threads call: a loop in a thread forms them."""

from __future__ import annotations

from ..._batch import BatchedMethod
from ..primitives import block_signals, get_ident, start
from ..serve.loop import new_loop
from ..serve.sync import fail
from .hub import StepHub
from .methodthreads import batch_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..serve.threads import ThreadServer

# Within this time, in ns, 32 threads wake up and call again: see bench/steps.sh.
_WAKE_UP = 3_000_000


def attach(server: ThreadServer) -> StepHub | None:
    """Let the batched methods of a model form batches of what a server runs, if it has any."""
    if not BatchedMethod.used:
        return None
    hub = StepHub(new_loop(), server.router, server.follow)
    hub.least_wait = _WAKE_UP
    hub.thread = 0  # until that runs
    batch_context().run(start, lambda: _run(hub), "batches")
    BatchedMethod.hub = hub
    return hub


def _run(hub: StepHub) -> None:
    hub.thread = get_ident()
    block_signals()
    while True:  # until the worker ends: calls may come from the model's own threads, too
        try:
            hub.loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            fail(error)
