"""Serving several predictions of a synchronous function at once: each slot has a thread.

`serving_loop.c` runs the loop of each. A thread stays for the life of the worker, because much
belongs to a thread: CUDA streams, connections of sqlite3, modes of torch. The main thread waits:
signal handlers of the model run there.
"""

from __future__ import annotations

import sys
from functools import partial

import _px

from ..logs.router import Router, follow_threads
from ..primitives import start
from ..scope import Scope
from .sync import SyncServer, hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..batch.threadbatches import ThreadHub
    from ..model.load import Predictor

# Of a thread, where `ulimit -s` sets no limit: that of the main thread elsewhere.
_STACK = 8 << 20
_SHARED = ("functions", "names", "variable", "encode", "keep", "fail", "generator", "collect")
_TICK = 1000  # ms until a debugger is let in


class ThreadServer(SyncServer):
    """The threads of a worker."""

    def __init__(self, functions: tuple[Predictor | None, ...], slots: int) -> None:
        super().__init__(functions)
        self._count = slots
        self.router = Router()
        self._handler: Callable[[ThreadServer, int], Handler] = Handler

    def serve(self) -> None:
        """Answer requests until the front closes the slots."""
        self.router.install()
        if self._main.healthcheck is not None:
            from .health import answer_checks

            answer_checks(self._main, None, alone=False)
        follow_threads()
        _px.follow_crashes()
        slots = len(_px.slots(self._count))
        self._follow_methods()
        for index in range(slots):
            self._start(index)
        # Debuggers that attach to a process run in its main thread, between instructions of Python.
        can_debug: Any = getattr(sys, "is_remote_debug_enabled", None)  # from Python 3.14 on
        tick = _TICK if can_debug is not None and can_debug() else 0
        while not _px.interrupts(slots, tick):
            pass

    def _follow_methods(self) -> None:
        """Let the model's batched methods form batches, if it has any."""
        if "cog._batch" not in sys.modules:
            return
        from ..batch.threadbatches import attach

        hub = attach(self)
        if hub is not None:
            self._handler = partial(BatchingHandler, hub=hub)

    def _start(self, index: int) -> None:
        """Start the thread of a slot."""
        handler = self._handler(self, index)

        def run() -> None:
            try:
                _px.serve_slot(handler, index)
            except BaseException as error:
                if _px.is_child():
                    _px.exit_child(error)
                from ..errors import abort

                abort(error)

        _with_stack(partial(start, run, f"slot-{index}"))


class Handler:
    """The attributes that `_px.serve_slot` looks up once and calls, on the thread of a slot."""

    def __init__(self, server: ThreadServer, index: int) -> None:
        for name in _SHARED:
            setattr(self, name, getattr(server, name))
        self._index = index
        self._id = 0
        self._router = server.router

    def begin(self, id: int) -> None:
        """Attribute what this thread writes from now on to a prediction."""
        self._id = id
        self._router.begin((self._index, id))

    def flush_text(self, ended: bool) -> None:
        """Send a partial line of the running prediction; ended says that its answer follows."""
        (self._router.end if ended else self._router.flush)((self._index, self._id))

    def scope(self, context: dict[str, str] | None) -> Scope:
        """Return the scope of the running prediction."""
        scope = Scope(context)
        if Scope.calls:
            scope.owner = (self._index, self._id)
        return scope

    def hook(self, id: int) -> Any:
        """Return a function that sends the metrics of a prediction to the front."""
        return hook(id, self._index)


class BatchingHandler(Handler):
    """Tells the hub which predictions run."""

    def __init__(self, server: ThreadServer, index: int, hub: ThreadHub) -> None:
        super().__init__(server, index)
        self._hub = hub

    def begin(self, id: int) -> None:
        """Attribute what this thread writes from now on to a prediction."""
        super().begin(id)
        with self._hub.lock:
            self._hub.begin((self._index, id))

    def flush_text(self, ended: bool) -> None:
        """Send a partial line of the running prediction; ended says that its answer follows."""
        super().flush_text(ended)
        if ended:
            with self._hub.lock:
                self._hub.end((self._index, self._id))


def _with_stack(begin: Any) -> None:
    """Start a thread with a stack as large as that of the main thread."""
    from _thread import stack_size
    from resource import RLIM_INFINITY, RLIMIT_STACK, getrlimit

    limit = getrlimit(RLIMIT_STACK)[0]
    try:
        before = stack_size(_STACK if limit == RLIM_INFINITY else limit)
    except ValueError:
        begin()
        return
    try:
        begin()
    finally:
        stack_size(before)
