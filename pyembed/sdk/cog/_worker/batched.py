"""Serving a synchronous function with @batch: one slot, one ride at a time, on the main thread.

The loop is C (`px_rides.c`), and so is a ride in which all is as usual; this is for the others.
"""

from __future__ import annotations

from threading import Thread
from time import perf_counter_ns

import _px

from ..exceptions import CancelationException
from .alone import Alone
from .encode import encode
from .held import Held
from .rides import Function, Item, Ride
from .scope import Scope, follow_starts, within
from .scope import current as variable
from .setup import call_setup
from .sync import fail
from .wire import CANCELED, FAILED, SUCCEEDED, TRAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIGUSR1, signal
    from typing import Any

    from .around import Around
    from .batching import Plan
    from .held import Frame, Request
    from .load import Predictor

    Outcome = tuple[Any, BaseException | None]  # what a function returned, or raised
else:
    from _signal import SIGUSR1, signal

_SLOT = 0


class BatchServer:
    """A model without preprocess and postprocess: main does everything.

    What has no underscore is what `_px.serve_rides` wants.
    """

    def __init__(
        self, predictor: Predictor, plan: Plan, trainer: Predictor | None, lost: tuple[str, ...]
    ) -> None:
        self._predictor = predictor
        self._plan = plan
        self._trainer = trainer
        self._function = Function(plan, predictor.function, lost)
        self._held = Held(_SLOT, None, self._ready)
        self.function = predictor.function
        self.prepare = self._function.prepare
        self.batched = plan.batched
        self.keys = self._function.keys
        self.scope = Scope
        self.variable = variable
        self.encode = encode
        self.inside = False  # main is in the model's function
        self._canceled = 0  # the ride, or the training, that was cancelled last

    def setup(self, config: dict[str, Any]) -> None:
        """Run the model's setup function, which may be async."""
        result = call_setup(self._predictor, config)
        if self._predictor.setup_is_async and result is not None:
            import asyncio

            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            loop.run_until_complete(result)

    def warm_up(self) -> None:
        """Run the model's example, where it gives one."""
        if self._predictor.example is not None:
            from .warmup import warm_up

            warm_up(self._predictor, self._predictor.example, None)

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        if self._predictor.healthcheck is not None:
            from .health import answer_checks

            answer_checks(self._predictor, None, alone=True)
        if not _px.slots(1):
            return
        follow_starts()
        signal(SIGUSR1, self._on_cancel)
        self._loop()
        _px.flush(_SLOT)

    def _loop(self) -> None:
        _px.serve_rides(self)

    def hand_over(self, frames: list[Frame]) -> None:
        """Carry out what frames ask for: not all of it is usual."""
        waiting = self._held.sort(frames)
        while waiting:
            self._carry_out(waiting.pop(0))
            if waiting:  # what was dropped meanwhile need not run
                waiting += self._held.sort(_px.frames(_SLOT, False) or ())

    def mend(
        self,
        id: int,
        frames: list[Frame],
        scope: Scope,
        result: Any,
        raised: BaseException | None,
        nanos: int,
    ) -> None:
        """Go on with a ride whose first run returned what is not usual, or raised."""
        ride = Ride(id, self._held.take_ready(frames))
        ride.scope = scope
        self._ride(ride, (result, raised), nanos)

    def answer_rest(
        self, frames: list[Frame], values: list[Any], nanos: int, metrics: dict[str, Any]
    ) -> None:
        """Answer items whose ride is done, the first of which has no value that is JSON."""
        for item, value in zip(self._held.take_ready(frames), values, strict=True):
            item.value = value
            self._held.answer(item, nanos, metrics)

    def _ready(self, ride: Ride) -> None:
        raise AssertionError("nothing is prepared here")

    def _carry_out(self, request: Request) -> None:
        id, flags, message, error = request
        if isinstance(message, Ride):
            self._held.rides.discard(message)
            if _px.claim(_SLOT, id):
                self._ride(message)
            else:
                self._held.give_back(message)
        elif _px.claim(_SLOT, id):
            function = self._trainer if flags & TRAIN else None
            self._train(id, Alone(function, id, flags, message, error))
        # Not with what follows: nobody knows for how long that runs.
        _px.flush(_SLOT)

    def _ride(self, ride: Ride, first: Outcome | None = None, nanos: int = 0) -> None:
        """Carry out a ride, or what is left of it after its first run, which took nanos."""
        riders = self._function.riders(ride.items)
        if riders:
            ride.begin(riders)
            _px.set_scope(ride.scope)  # for threads of the model's
            began = perf_counter_ns()
            canceled = within(ride.scope, self._run, ride, riders, first)
            ride.nanos = perf_counter_ns() - began + nanos
            _px.set_scope(None)
        else:
            canceled = False
        _px.batch_done(_SLOT, ride.id, ride.nanos, ride.runs, ride.size, ride.failed)
        if canceled:
            for item in ride.items:
                item.dropped = True
        self._answer(ride)

    def _answer(self, ride: Ride) -> None:
        self._held.answer_all(ride)

    def _run(self, ride: Ride, riders: list[Item], outcome: Outcome | None) -> bool:
        """Call the function, for parts where that has to be; tell whether that was cancelled.

        outcome, where there is one, stands for the first call.
        """
        function = self._function
        parts = self._function.parts(riders)
        while parts:
            part = parts.pop()
            ride.runs += 1
            raised: BaseException | None = None
            try:
                if outcome is not None:
                    result, raised = outcome
                else:
                    result = self._call(ride.id, function.call, function.arguments(part))
                if raised is None:
                    function.take(part, result)
            except BaseException as error:
                self.inside = False
                raised = error
            outcome = None
            if _px.is_child():
                _px.leave_child(raised)
            if raised is None:
                continue
            if self._canceled == ride.id and isinstance(raised, CancelationException):
                return True
            parts = function.refuse(ride, part, parts, raised)
        return False

    def _call(self, id: int, function: Any, arguments: dict[str, Any]) -> Any:
        # _on_cancel raises where it finds inside set: see to it that this is in a try.
        try:
            self.inside = True
            if self._canceled == id:
                raise CancelationException("the prediction was canceled")
            return function(**arguments)
        finally:
            self.inside = False

    def _train(self, id: int, call: Alone) -> None:
        """Carry out a request that is no item."""
        kind, value = SUCCEEDED, None
        _px.set_scope(call.scope)
        began = perf_counter_ns()
        try:
            value = within(call.scope, self._call, id, call.run, {})
        except BaseException as raised:
            self.inside = False
            if _px.is_child():
                _px.leave_child(raised)
            if self._canceled == id and isinstance(raised, CancelationException):
                kind = CANCELED
            else:
                kind, value = FAILED, fail(raised)
        if _px.is_child():
            _px.leave_child(None)
        took = perf_counter_ns() - began
        _px.set_scope(None)
        metrics = call.scope.collected() or None
        _px.reply(_SLOT, id, kind, value, took, metrics, call.encoder, fail)

    def _on_cancel(self, signum: int, frame: Any) -> None:
        """Interrupt the function, if what it does is what the front names."""
        if _px.is_child():
            return
        for _, id in _px.canceled():
            self._canceled = id
            if self.inside:
                raise CancelationException("the prediction was canceled")
            _px.hear_again()  # where C is about to call the function, it does not look


class AroundServer(BatchServer):
    """The same with preprocess or postprocess, which threads run while main computes.

    Another thread reads, for items are to be prepared meanwhile.
    """

    def __init__(
        self, predictor: Predictor, plan: Plan, trainer: Predictor | None, lost: tuple[str, ...]
    ) -> None:
        super().__init__(predictor, plan, trainer, lost)
        from queue import SimpleQueue

        from .around import Around

        self._around: Around = Around(plan, self._function, None)
        prepare = self._around.prepare if plan.preprocess is not None else None
        self._held = Held(_SLOT, prepare, self._ready)
        # What is to be run; None: the front has closed the slot; or what went wrong in reading it.
        self._work: SimpleQueue[Request | BaseException | None] = SimpleQueue()

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        self._around.start()
        super().serve()

    def _loop(self) -> None:
        Thread(target=self._read, name="batch-reader", daemon=True).start()
        ended = False
        while not ended or self._held.rides:
            work = self._work.get()
            if isinstance(work, BaseException):
                raise work
            if work is None:
                ended = True
            else:
                self._carry_out(work)
        self._around.finish()

    def _read(self) -> None:
        try:
            while (frames := _px.frames(_SLOT, True)) is not None:
                for request in self._held.sort(frames):
                    self._work.put(request)
            self._work.put(None)
        except BaseException as error:
            self._work.put(error)

    def _ready(self, ride: Ride) -> None:
        self._work.put((ride.id, 0, ride, None))

    def _answer(self, ride: Ride) -> None:
        if self._plan.postprocess is None:
            super()._answer(ride)
            return
        metrics = ride.metrics()
        for item in ride.alight():
            if item.is_fine():
                self._around.complete(self._held, item, ride.nanos, metrics)
            else:
                self._held.answer(item, ride.nanos, metrics)
