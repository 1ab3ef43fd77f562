"""Batches of the methods that predictions on threads call: a loop in a thread forms them."""

from __future__ import annotations

from ..._batch import BatchedMethod
from ..primitives import block_signals, get_ident, start
from ..serve.loop import new_loop
from ..serve.sync import fail
from ..serve.threads import Handler
from .hub import StepHub
from .methodthreads import batch_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..serve.threads import ThreadServer

# Within this time, in ns, 32 threads wake up and call again: see bench/steps.sh.
_WAKE_UP = 3_000_000


class BatchingHandler(Handler):
    """Tells the hub which predictions run."""

    def __init__(self, server: ThreadServer, index: int, hub: StepHub) -> None:
        super().__init__(server, index)
        self._hub = hub

    def begin(self, id: int) -> None:
        """Attribute what this thread writes from now on to a prediction."""
        super().begin(id)
        self._hub.announce((self._index, id))

    def settle_text(self, ended: bool) -> None:
        """Send a partial line of the running prediction; ended says that its answer follows."""
        super().settle_text(ended)
        if ended:
            self._hub.loop.call_soon_threadsafe(self._hub.end, (self._index, self._id))


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
