"""Serving a synchronous function with @batch: one slot, one batch at a time, on the main thread.

`serving_batchloop.c` runs the loop and the plain batches. This module handles the others.
"""

from __future__ import annotations

from time import perf_counter_ns

import _px

from ...exceptions import CancelationException
from .. import primitives
from ..scope import Scope, within
from ..scope import current as variable
from ..serve.sync import Server, fail, follow_starts, functions_of
from ..serve.wire import CANCELED, FAILED, SUCCEEDED
from ..values.encode import encode
from .items import Batch, Item, batched_of
from .pending import PendingItems
from .single import SingleRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIGUSR1, signal
    from typing import Any

    from ..model.load import Predictor
    from .pending import Frame, Request
    from .stages import Stages

    Outcome = tuple[Any, BaseException | None]  # what a function returned, or raised
else:
    from _signal import SIGUSR1, signal

_SLOT = 0


def is_cancel(raised: BaseException) -> bool:
    """Return whether a cancel raised this: an event loop of the model's is left by its own kind."""
    kind = type(raised)
    return issubclass(kind, CancelationException) or kind.__name__ == "CancelledError"


class BatchServer(Server):
    """A model without preprocess and postprocess: the main thread does everything.

    `_px.serve_batches` uses the attributes without an underscore.
    """

    def __init__(self, functions: tuple[Predictor | None, ...], fatal: tuple[str, ...]) -> None:
        super().__init__(functions)
        self.functions = functions_of(functions, on_loop=False)
        self._batched = batched_of(functions, fatal)
        self._pending = PendingItems(_SLOT, None, self._ready)
        # C runs the plain batches of run, if that has @batch.
        own = self._batched.get("")
        self.function = own.call if own is not None else None
        self.prepare = own.prepare if own is not None else None
        self.batched = own.batched if own is not None else ()
        self.keys = own.keys if own is not None else ()
        self.scope = Scope
        self.variable = variable
        self.encode = encode
        self.inside = False  # the main thread is in the model's function
        self._canceled = 0  # the id of the batch or training that was canceled last

    def trace(self, follow: Any) -> None:
        """Run the model's functions in the contexts of their batches and trainings."""
        super().trace(follow)
        for function in self._batched.values():
            function.call = follow(function.call)
        if "" in self._batched:
            self.function = self._batched[""].call

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        if self._main.healthcheck is not None:
            from ..serve.health import answer_checks

            answer_checks(self._main, None, alone=True)
        if not _px.slots(1):
            return
        follow_starts()
        _px.handle_cancels(self._on_cancel)
        if _px.is_signal_free():
            signal(SIGUSR1, _px.on_cancel)
        self._loop()
        _px.flush(_SLOT)

    def _loop(self) -> None:
        _px.serve_batches(self)

    def hand_over(self, frames: list[Frame]) -> None:
        """Carry out frames that C does not handle."""
        waiting = self._pending.sort(frames)
        while waiting:
            self._carry_out(waiting.pop(0))
            if waiting:  # read drops that came meanwhile
                waiting += self._pending.sort(_px.frames(_SLOT, False) or ())

    def resume(
        self,
        id: int,
        frames: list[Frame],
        scope: Scope,
        result: Any,
        raised: BaseException | None,
        nanos: int,
    ) -> None:
        """Finish a batch whose first run returned something C does not handle, or raised."""
        batch = Batch(id, self._pending.take_ready(frames))
        batch.scope = scope
        self._run_batch(batch, (result, raised), nanos)

    def answer_rest(
        self, frames: list[Frame], values: list[Any], nanos: int, metrics: dict[str, Any]
    ) -> None:
        """Answer the rest of a batch: the first value is not plain JSON."""
        for item, value in zip(self._pending.take_ready(frames), values, strict=True):
            item.value = value
            self._pending.answer(item, nanos, metrics)

    def _ready(self, batch: Batch) -> None:
        raise AssertionError("nothing is prepared here")

    def _carry_out(self, request: Request) -> None:
        id, flags, message, error = request
        if isinstance(message, Batch):
            self._pending.waiting.discard(message)
            if _px.claim(_SLOT, id):
                self._run_batch(message)
            else:
                self._pending.revoke(message)
        elif _px.claim(_SLOT, id):
            self._run_alone(id, SingleRequest(self, id, flags, message, error))
        # Before the next request, which may run for long.
        _px.flush(_SLOT)

    def _run_batch(self, batch: Batch, first: Outcome | None = None, nanos: int = 0) -> None:
        """Carry out a batch; first is the outcome of a run that took nanos, if there was one."""
        items = self._batched[batch.function].runnable(batch.items)
        if items:
            batch.begin(items)
            _px.set_scope(batch.scope)  # for threads of the model's
            began = perf_counter_ns()
            canceled = within(batch.scope, self._run_parts, batch, items, first)
            batch.nanos = perf_counter_ns() - began + nanos
            _px.set_scope(None)
        else:
            canceled = False
        _px.batch_done(_SLOT, batch.id, batch.nanos, batch.runs, batch.size, batch.failed)
        if canceled:
            for item in batch.items:
                item.dropped = True
        self._answer(batch)

    def _answer(self, batch: Batch) -> None:
        self._pending.answer_all(batch)

    def _run_parts(self, batch: Batch, items: list[Item], outcome: Outcome | None) -> bool:
        """Call the function for each part; return whether the batch was canceled.

        outcome, if given, takes the place of the first call.
        """
        function = self._batched[batch.function]
        parts = function.parts(items)
        while parts:
            part = parts.pop()
            batch.runs += 1
            raised: BaseException | None = None
            try:
                if outcome is not None:
                    result, raised = outcome
                else:
                    result = self._call(batch.id, function.call, function.arguments(part))
                if raised is None:
                    function.take(part, result)
            except BaseException as error:
                self.inside = False
                raised = error
            outcome = None
            if _px.is_child():
                _px.exit_child(raised)
            if raised is None:
                continue
            if self._is_canceled(batch.id) and is_cancel(raised):
                return True
            parts = function.refuse(batch, part, parts, raised)
        return False

    def _call(self, id: int, function: Any, arguments: dict[str, Any]) -> Any:
        # _on_cancel raises while inside is set, so that must be within this try.
        try:
            self.inside = True
            if self._canceled == id:
                raise CancelationException("the prediction was canceled")
            return function(**arguments)
        finally:
            self.inside = False

    def _is_canceled(self, id: int) -> bool:
        return self._canceled == id or _px.is_canceled(_SLOT, id)

    def _run_alone(self, id: int, call: SingleRequest) -> None:
        """Carry out a request to a function without @batch."""
        kind, value = SUCCEEDED, None
        _px.set_scope(call.scope)
        began = perf_counter_ns()
        try:
            value = within(call.scope, self._call, id, call.run, {})
        except BaseException as raised:
            self.inside = False
            if _px.is_child():
                _px.exit_child(raised)
            if self._is_canceled(id) and is_cancel(raised):
                kind = CANCELED
            else:
                kind, value = FAILED, fail(raised)
        if _px.is_child():
            _px.exit_child(None)
        took = perf_counter_ns() - began
        _px.set_scope(None)
        metrics = call.scope.collected() or None
        _px.reply(_SLOT, id, kind, value, took, metrics, call.encoder, fail)

    def _on_cancel(self, canceled: list[tuple[int, int]]) -> None:
        """Interrupt the function if the front cancels what it runs."""
        for _, id in canceled:
            self._canceled = id
            if self.inside:
                _px.interrupt()
                return
            _px.renew_cancel()  # C may be about to call the function, and checks again


class StagedBatchServer(BatchServer):
    """The same with preprocess or postprocess, which threads run while the main thread computes.

    Another thread reads frames, so that items are prepared meanwhile.
    """

    def __init__(self, functions: tuple[Predictor | None, ...], fatal: tuple[str, ...]) -> None:
        super().__init__(functions, fatal)
        from _queue import SimpleQueue

        from .stages import Stages

        plan: Any = functions[0].plan if functions[0] is not None else None
        self._stages: Stages = Stages(plan, self._batched[""], None)
        prepare = self._stages.prepare if plan.preprocess is not None else None
        self._pending = PendingItems(_SLOT, prepare, self._ready)
        # Requests to run; None when the front closed the slot; or the error of the reader.
        self._work: SimpleQueue[Request | BaseException | None] = SimpleQueue()

    def trace(self, follow: Any) -> None:
        """Run the stages in the contexts of their items, too."""
        super().trace(follow)
        self._stages.trace(follow)

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        from ..logs.router import follow_threads

        follow_threads()
        self._stages.start()
        super().serve()

    def _loop(self) -> None:
        primitives.start(self._read, "batch-reader")
        ended = False
        while not ended or self._pending.waiting:
            work = self._work.get()
            if isinstance(work, BaseException):
                raise work
            if work is None:
                ended = True
            else:
                self._carry_out(work)
        self._stages.finish()

    def _read(self) -> None:
        primitives.block_signals()
        try:
            while (frames := _px.frames(_SLOT, True)) is not None:
                for request in self._pending.sort(frames):
                    self._work.put(request)
            self._work.put(None)
        except BaseException as error:
            self._work.put(error)

    def _ready(self, batch: Batch) -> None:
        self._work.put((batch.id, 0, batch, None))

    def _answer(self, batch: Batch) -> None:
        if batch.function:
            super()._answer(batch)
        else:
            self._stages.answer_all(self._pending, batch)
