"""Serving an async function with @batch: rides are tasks on the loop, one at a time in a slot."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns

import _px

from ..exceptions import CancelationException
from .aio import AsyncServer, Slot
from .held import Held
from .rides import Function, Item, Ride
from .scope import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .around import Around
    from .batching import Plan
    from .held import Request
    from .load import Predictor


class AsyncBatchServer(AsyncServer):
    """The loop of `aio`, whose requests may be rides."""

    def __init__(
        self,
        predictor: Predictor,
        plan: Plan,
        trainer: Predictor | None,
        slots: int,
        lost: tuple[str, ...],
    ) -> None:
        super().__init__(predictor, trainer, slots)
        self._function = Function(plan, predictor.function, lost)
        self._around: Around | None = None
        if plan.preprocess is not None or plan.postprocess is not None:
            from .around import Around

            self._around = Around(plan, self._function, self._router)
        prepare = None
        if self._around is not None and plan.preprocess is not None:
            prepare = self._around.prepare
        self._postprocess = plan.postprocess is not None
        self._held = [Held(index, prepare, self._ready) for index in range(slots)]

    def serve(self) -> None:
        """Answer requests until the front closes the slots."""
        if self._around is not None:
            self._around.start()
        super().serve()
        if self._around is not None:
            self._around.finish()

    def _finished(self) -> bool:
        return super()._finished() and not any(held.rides for held in self._held)

    def _readable(self, slot: Slot) -> None:
        try:
            frames = _px.frames(slot.index, False)
            if frames is None:
                self._loop.remove_reader(slot.fd)
                self._open -= 1
                if self._finished():
                    self._loop.stop()
                return
            self._go_on_with(slot, self._held[slot.index].sort(frames))
        except BaseException as error:
            self._give_up(error)

    def _ready(self, ride: Ride) -> None:
        """Take a ride whose last item was prepared. Called by a thread."""
        self._loop.call_soon_threadsafe(self._begin, ride)

    def _begin(self, ride: Ride) -> None:
        slot = self._slots[ride.items[0].slot]
        try:
            self._go_on_with(slot, [(ride.id, 0, ride, None)])
        except BaseException as error:
            self._give_up(error)

    def _go_on_with(self, slot: Slot, requests: list[Request]) -> None:
        slot.pending.extend(requests)
        self._pump(slot)
        if self._resuming:
            return
        if self._dirty:
            self._flush()
        if self._finished():
            self._loop.stop()

    def _taken_back(self, slot: Slot, message: Any) -> None:
        if isinstance(message, Ride):
            self._held[slot.index].give_back(message)
            self._dirty.add(slot.index)

    async def _one(
        self, slot: Slot, id: int, flags: int, message: Any, error: BaseException | None
    ) -> None:
        if isinstance(message, Ride):
            await self._ride(slot, message)
        else:
            await super()._one(slot, id, flags, message, error)

    async def _ride(self, slot: Slot, ride: Ride) -> None:
        """Carry a ride out, in a task of its own."""
        self._held[slot.index].rides.discard(ride)
        enter(ride.scope)  # in this task's own context: nothing to leave
        self._strays.running = ride.scope
        if self._router is not None:
            self._router.begin((slot.index, ride.id))
        canceled = False
        try:
            riders = self._function.riders(ride.items)
            if riders:
                ride.begin(riders)
                began = perf_counter_ns()
                canceled = await self._run(slot, ride, riders)
                ride.nanos = perf_counter_ns() - began
            self._release(slot, ride.id)
            _px.batch_done(slot.index, ride.id, ride.nanos, ride.runs, ride.size, ride.failed)
            if canceled:
                for item in ride.items:
                    item.dropped = True
            self._answer_all(slot, ride)
            self._continue(slot, ride.nanos)
        except BaseException as escaped:
            self._give_up(escaped)

    async def _run(self, slot: Slot, ride: Ride, riders: list[Item]) -> bool:
        """Call the function, for parts where that has to be; tell whether that was cancelled."""
        function = self._function
        parts = self._function.parts(riders)
        while parts:
            part = parts.pop()
            ride.runs += 1
            raised: BaseException | None = None
            try:
                result = await self._call(slot, ride.id, function.arguments(part))
                function.take(part, result)
            except BaseException as error:
                slot.inside = False
                raised = error
            if _px.is_child():
                _px.leave_child(raised)
            if raised is None:
                continue
            if slot.canceled == ride.id and isinstance(
                raised, (asyncio.CancelledError, CancelationException)
            ):
                return True
            parts = function.refuse(ride, part, parts, raised)
        return False

    async def _call(self, slot: Slot, id: int, arguments: dict[str, Any]) -> Any:
        # _on_cancel raises where it finds inside set: see to it that this is in a try.
        try:
            slot.inside = True
            if slot.canceled == id:
                raise asyncio.CancelledError
            return await self._function.call(**arguments)
        finally:
            slot.inside = False

    def _answer_all(self, slot: Slot, ride: Ride) -> None:
        held = self._held[slot.index]
        if self._around is None or not self._postprocess:
            held.answer_all(ride)
            return
        metrics = ride.metrics()
        for item in ride.alight():
            if item.is_fine():
                self._around.complete(held, item, ride.nanos, metrics)
            else:
                held.answer(item, ride.nanos, metrics)
