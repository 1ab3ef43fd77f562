"""Serving an async function with @batch: each batch is a task, one at a time in a slot."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns

import _px

from ...exceptions import CancelationException
from ..scope import enter
from ..serve.aio import AsyncServer
from ..serve.aioslot import Slot
from .items import Batch, Item, batched_of
from .pending import PendingItems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.load import Predictor
    from .pending import Request
    from .stages import Stages


class AsyncBatchServer(AsyncServer):
    """The server of `serve.aio`, whose requests may be batches."""

    def __init__(
        self,
        functions: tuple[Predictor | None, ...],
        slots: int,
        fatal: tuple[str, ...],
    ) -> None:
        super().__init__(functions, slots)
        self._batched = batched_of(functions, fatal)
        self._stages: Stages | None = None
        prepare = None
        plan = functions[0].plan if functions[0] is not None else None
        if plan is not None and (plan.preprocess is not None or plan.postprocess is not None):
            from .stages import Stages

            self._stages = Stages(plan, self._batched[""], self._router)
            prepare = self._stages.prepare if plan.preprocess is not None else None
        self._pending = [PendingItems(index, prepare, self._ready) for index in range(slots)]

    def trace(self, follow: Any) -> None:
        """Run the model's functions in the contexts of their batches, items and trainings."""
        super().trace(follow)
        for function in self._batched.values():
            function.call = follow(function.call)
        if self._stages is not None:
            self._stages.trace(follow)

    def serve(self) -> None:
        """Answer requests until the front closes the slots."""
        if self._stages is not None:
            self._stages.start()
        super().serve()
        if self._stages is not None:
            self._stages.finish()

    def _finished(self) -> bool:
        return super()._finished() and not any(pending.waiting for pending in self._pending)

    def _open_slots(self) -> list[int]:
        """Wait for the slots, of which each has a socket: the batches of one are enough for it."""
        sockets: list[int] = _px.slots(self._count)
        self._slots = [Slot(index) for index in range(len(sockets))]
        return sockets

    def _readable(self, number: int, fd: int) -> None:
        try:
            frames = _px.frames(number, False)
            if frames is None:
                self._close(fd)
                return
            self._go_on_with(self._slots[number], self._pending[number].sort(frames))
        except BaseException as error:
            self._give_up(error)

    def _ready(self, batch: Batch) -> None:
        """Take a batch whose last item was prepared. Called by a thread."""
        self._loop.call_soon_threadsafe(self._begin, batch)

    def _begin(self, batch: Batch) -> None:
        slot = self._slots[batch.items[0].slot]
        try:
            self._go_on_with(slot, [(batch.id, 0, batch, None)])
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

    def _revoked(self, slot: Slot, message: Any) -> None:
        if isinstance(message, Batch):
            self._pending[slot.index].revoke(message)
            self._dirty.add(slot.index)

    async def _serve_request(
        self, slot: Slot, id: int, flags: int, message: Any, error: BaseException | None
    ) -> None:
        if isinstance(message, Batch):
            await self._run_batch(slot, message)
        else:
            await super()._serve_request(slot, id, flags, message, error)

    async def _run_batch(self, slot: Slot, batch: Batch) -> None:
        """Carry out a batch. This is its task."""
        self._pending[slot.index].waiting.discard(batch)
        batch.scope.owner = (slot.index, batch.id)
        enter(batch.scope)  # the context is this task's: nothing to restore
        self._leftovers.running = batch.scope
        if self._router is not None:
            self._router.begin((slot.index, batch.id))
        canceled = False
        try:
            items = self._batched[batch.function].runnable(batch.items)
            if items:
                batch.begin(items)
                began = perf_counter_ns()
                canceled = await self._run_parts(slot, batch, items)
                batch.nanos = perf_counter_ns() - began
            self._release(slot, batch.id)
            _px.batch_done(slot.index, batch.id, batch.nanos, batch.runs, batch.size, batch.failed)
            if canceled:
                for item in batch.items:
                    item.dropped = True
            self._answer_all(slot, batch)
            self._continue(slot, batch.nanos)
        except BaseException as escaped:
            self._give_up(escaped)

    async def _run_parts(self, slot: Slot, batch: Batch, items: list[Item]) -> bool:
        """Call the function for each part; return whether the batch was canceled."""
        function = self._batched[batch.function]
        parts = function.parts(items)
        while parts:
            part = parts.pop()
            batch.runs += 1
            raised: BaseException | None = None
            try:
                result = await self._call(slot, batch.id, function.call, function.arguments(part))
                function.take(part, result)
            except BaseException as error:
                slot.inside = False
                raised = error
            if _px.is_child():
                _px.exit_child(raised)
            if raised is None:
                continue
            if slot.canceled == batch.id and issubclass(
                type(raised), (asyncio.CancelledError, CancelationException)
            ):
                return True
            parts = function.refuse(batch, part, parts, raised)
        return False

    async def _call(self, slot: Slot, id: int, call: Any, arguments: dict[str, Any]) -> Any:
        # _on_cancel raises while inside is set, so that must be within this try.
        try:
            slot.inside = True
            if slot.canceled == id:
                raise asyncio.CancelledError
            return await call(**arguments)
        finally:
            slot.inside = False

    def _answer_all(self, slot: Slot, batch: Batch) -> None:
        pending = self._pending[slot.index]
        if self._stages is None or batch.function:
            pending.answer_all(batch)
        else:
            self._stages.answer_all(pending, batch)
