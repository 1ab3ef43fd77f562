"""Serving an async predict function: one event loop, one task for each prediction.

The loop reads the sockets of the slots. It starts all requests that are there at
once (`eager`), and sends answers that are ready at the same time together.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextvars import copy_context
from functools import partial
from time import perf_counter_ns
from types import CoroutineType

import _px

from ...exceptions import CancelationException
from ..logs.router import LeftoverOutput, Router, follow_threads
from ..scope import INACTIVE, Scope, current, enter
from ..values.encode import GENERATOR, encode
from ..values.iterators import collect, collect_async
from .aioslot import SLOT_SHIFT, STARTING, Slot
from .eager import eager_start
from .loop import Selector, close_loop, new_loop
from .pause import resumed
from .sync import Server, SyncServer, fail, functions_of, hook, keep
from .watch import Watch
from .wire import CANCELED, EVENTS, FAILED, OUTPUT, SUCCEEDED, TRACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.load import Predictor
    from .sync import Function

# Answers wait at most this long, in nanoseconds, to be sent with others.
_HOLD_NS = 30_000
# The same if at least _MANY requests wait in the slot.
_HOLD_MANY_NS = 120_000
_MANY = 8

# Types that are not iterators: their attributes need no look.
_PLAIN = frozenset((str, int, float, bool, dict, type(None)))


class AsyncServer(Server):
    """The event loop and its slots."""

    def __init__(self, functions: tuple[Predictor | None, ...], slots: int) -> None:
        super().__init__(functions)
        self._count = slots
        self.functions = functions_of(functions, on_loop=True)
        self._loop = new_loop()
        asyncio.set_event_loop(self._loop)
        self._launch = eager_start(self._loop)
        self._slots: list[Slot] = []
        self._receive: Any = _px.receive
        self._dirty: set[int] = set()  # slots with unsent answers
        self._unsent_since = 0
        self._armed = False  # the flusher will send them
        self._resuming = False  # _resume is scheduled
        self._ended: list[Slot] = []  # slots for _resume
        self._starting = False  # a task runs its first step, within _pump
        self._context = copy_context()
        # Python attributes the output of concurrent predictions, not the log pipes.
        self._router = Router() if slots > 1 else None
        self._leftovers = LeftoverOutput()
        self._watch = Watch(self._loop, self._is_busy)
        self._open = 0  # sockets that the front has not closed
        self._defect: BaseException | None = None  # what ends the worker

    def serve(self) -> None:
        """Answer requests until the front closes the slots."""
        if not self._main.is_async:  # only setup is
            server = SyncServer(self._given)
            if self.follow is not None:
                server.trace(self.follow)
            server.serve()
            return
        (self._router or self._leftovers).install()
        _px.use_scope_variable(current, INACTIVE)
        _px.use_task_owner(self._leftovers)
        if self._main.healthcheck is not None:
            from .health import answer_checks

            answer_checks(self._main, self._loop, alone=self._router is None)
        follow_threads()
        sockets = self._open_slots()
        _px.handle_cancels(self._on_cancel)
        if _px.is_signal_free():
            signal.signal(signal.SIGUSR1, _px.on_cancel)
        self._watch.start()
        self._open = len(sockets)
        steps = _steps(self)
        if any(each is not None and each.signature.streamed is not None for each in self._given):
            from ..values.live import receive_requests

            self._receive = receive_requests
        for number, fd in enumerate(sockets):
            self._loop.add_reader(fd, self._readable, number, fd)
        # The model may stop the loop, and SystemExit or KeyboardInterrupt of a task leaves it. Then
        # other predictions must go on, so only this server ends it.
        while not self._finished():
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                if _px.is_child():
                    _px.exit_child(error)
                fail(error)
            if self._defect is not None:
                raise self._defect
        self._flush()
        self._watch.stop()
        if steps is not None:
            steps.close()
        close_loop(self._loop)

    def _open_slots(self) -> list[int]:
        """Wait for the slots, and return their sockets: one for all of them."""
        on_turn = None
        if type(getattr(self._loop, "_selector", None)) is not Selector:
            on_turn = partial(self._loop.call_soon, _px.flush, 0, context=self._context)
        fd = _px.share_socket(self._count, on_turn)
        if fd < 0:
            return []  # the worker is to leave
        self._slots = [Slot(index) for index in range(self._count)]
        return [fd]

    def _runs(self) -> bool:
        """Return whether a prediction is in progress."""
        return any(slot.task is not None for slot in self._slots)

    def _is_busy(self) -> bool:
        """Return whether predictions are in progress, and none is synchronous."""
        return self._runs() and not any(slot.is_sync for slot in self._slots)

    def _finished(self) -> bool:
        """Return whether the front has closed every slot and has all its answers."""
        return self._open == 0 and not self._runs() and not any(s.pending for s in self._slots)

    def _give_up(self, error: BaseException) -> None:
        """End the worker after a defect: the front answers its predictions."""
        if _px.is_child():
            _px.exit_child(error)
        self._defect = error
        self._loop.stop()

    def _readable(self, number: int, fd: int) -> None:
        try:
            requests = self._receive(number)
            if requests is None:
                self._close(fd)
                return
            slots = self._slots
            if len(slots) == 1:
                slots[0].pending.extend(requests)
                self._pump(slots[0])
            else:
                for request in requests:
                    slots[request[0] >> SLOT_SHIFT].pending.append(request)
                for request in requests:
                    self._pump(slots[request[0] >> SLOT_SHIFT])
                    if self._dirty and perf_counter_ns() - self._unsent_since > _HOLD_NS:
                        self._flush()
            if self._dirty and not self._resuming:
                self._flush()
        except BaseException as error:
            self._give_up(error)

    def _close(self, fd: int) -> None:
        """Note that the front has closed a socket."""
        self._loop.remove_reader(fd)
        self._open -= 1
        if self._finished():
            self._loop.stop()

    def _pump(self, slot: Slot) -> None:
        """Start the requests of a slot, until one does not end at once."""
        pending, launch = slot.pending, self._launch
        before = False  # a prediction has just ended here
        while pending and slot.task is None:
            id, flags, message, error = pending.popleft()
            if not _px.claim(slot.index, id, before):
                self._revoked(slot, message)
                continue
            before = True
            slot.id = id
            slot.inside = False
            slot.task = STARTING
            if not self._watch.awake:
                self._watch.wake()
            if self._dirty and not self._armed:
                self._arm()  # the prediction may block the loop
            slot.coroutine = coroutine = self._serve_request(slot, id, flags, message, error)
            if launch is not None:
                self._starting = True
                task = launch(coroutine, self._loop)
                self._starting = False
                if slot.task is STARTING:
                    slot.task = task
            else:
                slot.task = self._loop.create_task(coroutine)
            if pending and self._dirty:  # else the caller sends them
                hold = _HOLD_NS if len(pending) < _MANY else _HOLD_MANY_NS
                if perf_counter_ns() - self._unsent_since > hold:
                    self._flush()

    async def _serve_request(
        self, slot: Slot, id: int, flags: int, message: Any, error: BaseException | None
    ) -> None:
        """Carry out one prediction. This is its task."""
        began = perf_counter_ns()
        scope = Scope(message.get("context") if message else None)
        enter(scope)  # the context is this task's: nothing to restore
        if Scope.owned:
            scope.owner = (slot.index, id)
        self._leftovers.running = scope
        if self._router is not None:
            self._router.begin((slot.index, id))
        kind = FAILED
        value: Any = None
        function: Function | None = None
        observed = flags & EVENTS
        prepared = -1  # what its input took to prepare; kept where the request is traced
        encoder: Any = encode
        try:
            if observed:
                scope.hook = hook(id, slot.index)
                _px.started(slot.index, id)
            if message and "files" in message:
                encoder = keep(message["files"])
            # _on_cancel raises while inside is set, so that must be within this try.
            try:
                slot.inside = True
                if slot.canceled == id:
                    raise asyncio.CancelledError
                if error is not None:
                    raise error
                kwargs = message["input"]
                function = self.function_of(flags, message)
                slot.is_sync = not function.is_async
                if function.prepare is not None:
                    kwargs = function.prepare(kwargs)
                if flags & TRACE:
                    prepared = perf_counter_ns() - began
                value = function.predict(**kwargs)
                if type(value) is CoroutineType or hasattr(value, "__await__"):
                    value = await value
                if type(value) not in _PLAIN and hasattr(value, "__aiter__"):
                    if observed:
                        value = await self._emit_all(slot, id, value, encoder)
                    else:
                        value = await collect_async(value, encoder)
                else:
                    if function.convert is not None and type(value) is not list:
                        value = function.convert(value, encoder)
                    elif type(value) is GENERATOR and function.collect is None:
                        value = collect(value, encoder)
                    if function.collect is not None:
                        if observed:
                            value = _px.emit_all(slot.index, id, value, encoder)
                        else:
                            value = function.collect(value, encoder)
            finally:
                slot.inside = slot.is_sync = False
            kind = SUCCEEDED
        except BaseException as raised:
            if _px.is_child():
                _px.exit_child(raised)
            if slot.is_cancel(raised, function, id):
                kind = CANCELED
            else:
                value = fail(raised)
        if _px.is_child():
            _px.exit_child(None)
        try:
            took = perf_counter_ns() - began
            if flags & TRACE:
                _px.put_times(slot.index, id, took, took if prepared < 0 else prepared)
            self._answer(slot, id, kind, value, took, scope, encoder)
        except BaseException as escaped:
            self._give_up(escaped)

    async def _emit_all(self, slot: Slot, id: int, items: Any, encoder: Any) -> Any:
        """Send each item as it comes."""
        index, number = 0, slot.index
        who = (number, id)
        router = self._router
        iterator = items.__aiter__()
        try:
            async for item in iterator:
                if router is not None:
                    router.flush(who)
                if _px.emit(number, id, OUTPUT, item, encoder, index):
                    await resumed(number, id)
                index += 1
        except BaseException as raised:
            await _interrupt(iterator, raised)
            raise
        return _px.YIELDED

    def _answer(
        self, slot: Slot, id: int, kind: int, value: Any, took: int, scope: Scope, encoder: Any
    ) -> None:
        """Queue a prediction's answer and let its slot go on."""
        self._release(slot, id)
        metrics = None if scope._values is None else scope.collected()
        _px.reply(slot.index, id, kind, value, took, metrics, encoder, fail)
        if not self._starting:  # else _pump goes on
            self._continue(slot, took)

    def _revoked(self, slot: Slot, message: Any) -> None:
        """Note that the front revoked a request."""

    def _release(self, slot: Slot, id: int) -> None:
        """Free a slot whose prediction has ended; its answer follows."""
        slot.task = None
        if self._router is not None:
            self._router.end((slot.index, id))
        if not self._dirty:
            self._unsent_since = perf_counter_ns()
        self._dirty.add(slot.index)

    def _continue(self, slot: Slot, took: int) -> None:
        """Let a slot go on, and see that queued answers are sent."""
        if self._starting:
            return  # _pump goes on
        if self._launch is None:
            # The next task must not inherit this task's context.
            self._context.run(self._pump, slot)
        if not self._resuming:
            self._resuming = True
            self._loop.call_soon(self._resume, context=self._context)
        if took > _HOLD_NS or self._runs():
            self._arm()  # other tasks come before _resume, and may block the loop
        if self._launch is not None:
            self._ended.append(slot)

    def _resume(self) -> None:
        """Go on with slots whose predictions have ended, and send queued answers."""
        try:
            self._go_on()
            if self._finished():
                self._loop.stop()
        except BaseException as error:
            self._give_up(error)

    def _go_on(self) -> None:
        self._resuming = False
        ended, self._ended = self._ended, []
        for slot in ended:
            self._pump(slot)
        if not self._dirty:
            return
        busy = self._launch is None and any(
            slot.task is not None and not slot.inside for slot in self._slots
        )
        if busy and perf_counter_ns() - self._unsent_since < _HOLD_NS:
            # Tasks that start now may end at once, and their answers share the write.
            self._resuming = True
            self._loop.call_soon(self._resume, context=self._context)
        else:
            self._flush()

    def _arm(self) -> None:
        """Make the flusher send the answers if the loop is blocked."""
        if not self._armed:
            self._armed = True
            _px.arm_flusher()

    def _flush(self) -> None:
        self._armed = False
        dirty, self._dirty = self._dirty, set()
        for index in dirty:
            _px.flush(index)

    def _on_cancel(self, canceled: list[tuple[int, int]]) -> None:
        """Cancel the tasks of the predictions that the front names, each once."""
        for index, id in canceled:
            slot = self._slots[index]
            if slot.id != id:
                continue
            slot.canceled = id
            if not slot.inside:
                pass  # the model's code has not started, and will not
            elif slot.coroutine.cr_running:
                # It blocks the loop: interrupt the call.
                _px.interrupt(CancelationException if slot.is_sync else asyncio.CancelledError)
            else:
                self._loop.call_soon_threadsafe(self._cancel, slot, id)

    def _cancel(self, slot: Slot, id: int) -> None:
        if slot.id == id and slot.task is not None:
            from .swallowed import TaskCancel

            TaskCancel(self._loop, slot.task)


def _steps(server: AsyncServer) -> Any:
    """Return what forms the batches of the model's methods; None if it has no such methods."""
    if "cog._batch" not in sys.modules:
        return None
    from ..batch.loopbatches import attach

    return attach(server)


async def _interrupt(iterator: Any, raised: BaseException) -> None:
    """Close an async generator, so that its finally blocks run."""
    if issubclass(type(raised), asyncio.CancelledError) and hasattr(iterator, "athrow"):
        # Raise it where the generator waits, as if it had been running.
        try:
            await iterator.athrow(raised)
        except StopAsyncIteration:
            pass
    if hasattr(iterator, "aclose"):
        await iterator.aclose()
