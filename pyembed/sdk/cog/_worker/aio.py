"""Serving an async predict function: one event loop, one task a prediction.

The loop owns the slots' sockets. All requests of one readiness are started at
once, eagerly where Python can; answers that are ready together leave together.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio import Task
from collections import deque
from contextvars import copy_context
from time import perf_counter_ns
from types import CoroutineType

import _px

from ..exceptions import CancelationException
from .coerce import make_prepare
from .encode import GENERATOR, encode
from .items import collect, collect_async, settler
from .logs import Router, Strays, follow_threads
from .loop import new_loop
from .scope import INACTIVE, Scope, current, enter
from .setup import call_setup
from .sync import SyncServer, fail, hook, keep
from .watch import Watch
from .wire import CANCELED, EVENTS, FAILED, OUTPUT, SUCCEEDED, TRAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from .load import Predictor

    Launch = Callable[[Coroutine[Any, Any, None], asyncio.AbstractEventLoop], asyncio.Task[None]]

# Answers are held no longer than this for others to join them.
_HOLD_NS = 30_000
# So long where so many requests more wait in their slot.
_HOLD_MANY_NS = 120_000
_MANY = 8

# Whether asyncio itself can run a task's first step at once, without a turn of the loop.
_EAGER = sys.version_info >= (3, 12)


def _begin(
    coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> asyncio.Task[None]:
    """Begin a task and run its first step at once. No other task may be at work."""
    return Task(coroutine, loop=loop, eager_start=True)  # type: ignore[call-arg,unused-ignore]


def _begin_by_hand(
    coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> asyncio.Task[None]:
    """Do what _begin does, where asyncio cannot. Rarely the step has to wait for its turn."""
    task = Task(coroutine, loop=loop)
    ready = loop._ready  # type: ignore[attr-defined]
    step = ready.pop()  # a new task puts its first step last in line
    if getattr(step._callback, "__self__", None) is task:
        step._context.run(step._callback)
    else:
        ready.append(step)  # a thread of the model's came in between
    return task


def _beginner(loop: asyncio.AbstractEventLoop) -> Launch | None:
    """Return what begins a task at once on a loop, or None where nothing can."""
    if _EAGER:
        return _begin
    # CPython's own loop; the line is one of another loop's secrets.
    return _begin_by_hand if isinstance(getattr(loop, "_ready", None), deque) else None


# What is no iterator, and needs no look at its attributes.
_PLAIN = frozenset((str, int, float, bool, dict, type(None)))

# In a slot's place for its task: the first step is being run, before anybody has the task.
_BEGINNING: Any = object()


class Slot:
    """One slot: its socket, what waits in it, and the task that has it."""

    __slots__ = (
        "canceled",
        "coroutine",
        "fd",
        "id",
        "index",
        "inside",
        "is_sync",
        "pending",
        "task",
    )

    def __init__(self, index: int, fd: int) -> None:
        self.index = index
        self.fd = fd
        self.pending: deque[tuple[int, int, Any, BaseException | None]] = deque()
        self.id = 0
        self.task: asyncio.Task[None] | None = None  # or _BEGINNING
        self.coroutine: Any = None  # the task's
        self.inside = False  # the task is in the model's code
        self.is_sync = False  # which is synchronous: a train function
        # The id that was cancelled last. The page does not tell for long: a
        # cancel that comes too late, for the one before, overwrites its word.
        self.canceled = 0


class Function:
    """A function of the model's, as the loop calls it."""

    __slots__ = ("call", "collect", "is_async", "prepare", "settle")

    def __init__(self, predictor: Predictor) -> None:
        self.call = predictor.function
        self.is_async = predictor.is_async
        self.prepare = make_prepare(predictor.signature)
        self.collect = collect if predictor.is_generator else None
        self.settle = settler(predictor)


class AsyncServer:
    """The event loop and its slots."""

    def __init__(self, predictor: Predictor | None, trainer: Predictor | None, slots: int) -> None:
        self._predictor = predictor
        self._main = predictor or trainer
        self._count = slots
        self._functions = (
            Function(predictor) if predictor is not None else None,
            Function(trainer) if trainer is not None else None,
        )
        self._trainer = trainer
        self._loop = new_loop()
        self._launch = _beginner(self._loop)
        self._slots: list[Slot] = []
        self._dirty: set[int] = set()  # slots with answers that are not sent
        self._unsent_since = 0
        self._armed = False  # the flusher will send them
        self._resuming = False  # _resume will run
        self._ended: list[Slot] = []  # for _resume
        self._starting = False  # a task runs its first step, within _pump
        self._context = copy_context()
        # Where predictions run at once, text is told apart in Python, not by the log pipes.
        self._router = Router() if slots > 1 else None
        self._strays = Strays()
        self._watch = Watch(self._loop, self._is_busy)
        self._open = 0  # sockets that the front has not closed
        self._defect: BaseException | None = None  # what ends the worker

    def setup(self, config: dict[str, Any]) -> None:
        """Run the model's setup function, on the loop where it is async."""
        asyncio.set_event_loop(self._loop)
        if self._main is None:
            return
        result = call_setup(self._main, config)
        if self._main.setup_is_async and result is not None:
            self._loop.run_until_complete(result)

    def warm_up(self) -> None:
        """Run the model's example, where it gives one, on the loop where it is async."""
        if self._main is not None and self._main.example is not None:
            from .warmup import warm_up

            warm_up(self._main, self._main.example, self._loop if self._main.is_async else None)

    def serve(self) -> None:
        """Answer requests until the front closes the slots."""
        if self._main is not None and not self._main.is_async:  # only setup is
            SyncServer(self._predictor, self._trainer).serve()
            return
        (self._router or self._strays).install()
        _px.whose(current, INACTIVE)
        _px.whose_task(self._strays)
        if self._main is not None and self._main.healthcheck is not None:
            from .health import answer_checks

            answer_checks(self._main, self._loop, alone=self._router is None)
        follow_threads()
        self._slots = [Slot(i, fd) for i, fd in enumerate(_px.slots(self._count))]
        signal.signal(signal.SIGUSR1, self._on_cancel)
        self._watch.start()
        self._open = len(self._slots)
        for slot in self._slots:
            self._loop.add_reader(slot.fd, self._readable, slot)
        # The model may stop the loop, and asyncio lets SystemExit and KeyboardInterrupt of any task
        # or callback out of it. The others' predictions must go on: only we end it.
        while not self._finished():
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                if _px.is_child():
                    _px.leave_child(error)
                fail(error)
            if self._defect is not None:
                raise self._defect
        self._flush()
        self._close()

    def _runs(self) -> bool:
        """Tell whether a prediction is in progress."""
        return any(slot.task is not None for slot in self._slots)

    def _is_busy(self) -> bool:
        """Tell whether predictions are in progress, and none is synchronous."""
        return self._runs() and not any(slot.is_sync for slot in self._slots)

    def _finished(self) -> bool:
        """Tell whether the front has closed every slot and all that it sent is answered."""
        return self._open == 0 and not self._runs() and not any(s.pending for s in self._slots)

    def _close(self) -> None:
        """End what the model left on the loop, as asyncio.run does."""
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(_settled(left))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _give_up(self, error: BaseException) -> None:
        """End the worker: its predictions have lost their answers, and the front gives others."""
        if _px.is_child():
            _px.leave_child(error)
        self._defect = error
        self._loop.stop()

    def _readable(self, slot: Slot) -> None:
        try:
            requests = _px.receive(slot.index)
            if requests is None:
                self._loop.remove_reader(slot.fd)
                self._open -= 1
                if self._finished():
                    self._loop.stop()
                return
            slot.pending.extend(requests)
            self._pump(slot)
            if self._dirty and not self._resuming:
                self._flush()
        except BaseException as error:
            self._give_up(error)

    def _pump(self, slot: Slot) -> None:
        """Start what waits in a slot, until one of them has to wait itself."""
        pending, launch = slot.pending, self._launch
        before = False  # there was one, which has ended a moment ago
        while pending and slot.task is None:
            id, flags, message, error = pending.popleft()
            if not _px.claim(slot.index, id, before):
                self._taken_back(slot, message)
                continue
            before = True
            slot.id = id
            slot.inside = False
            slot.task = _BEGINNING
            if not self._watch.awake:
                self._watch.wake()
            if self._dirty and not self._armed:
                self._arm()  # what begins here may block the loop
            slot.coroutine = coroutine = self._one(slot, id, flags, message, error)
            if launch is not None:
                self._starting = True
                task = launch(coroutine, self._loop)
                self._starting = False
                if slot.task is _BEGINNING:
                    slot.task = task
            else:
                slot.task = self._loop.create_task(coroutine)
            hold = _HOLD_NS if len(pending) < _MANY else _HOLD_MANY_NS
            if self._dirty and perf_counter_ns() - self._unsent_since > hold:
                self._flush()

    async def _one(
        self, slot: Slot, id: int, flags: int, message: Any, error: BaseException | None
    ) -> None:
        """Carry one prediction out, in a task of its own."""
        began = perf_counter_ns()
        scope = Scope(message.get("context") if message else None)
        enter(scope)  # in this task's own context: nothing to leave
        self._strays.running = scope
        if self._router is not None:
            self._router.begin((slot.index, id))
        kind = FAILED
        value: Any = None
        function: Function | None = None
        told = flags & EVENTS
        encoder: Any = encode
        try:
            if told:
                scope.hook = hook(id, slot.index)
                _px.started(slot.index, id)
            if message and "files" in message:
                encoder = keep(message["files"])
            # _on_cancel raises where it finds inside set: see to it that this is in a try.
            try:
                slot.inside = True
                if slot.canceled == id:
                    raise asyncio.CancelledError
                if error is not None:
                    raise error
                kwargs = message["input"]
                function = self._functions[1 if flags & TRAIN else 0]
                if function is None:
                    raise RuntimeError("this model has no such function")
                slot.is_sync = not function.is_async
                if function.prepare is not None:
                    kwargs = function.prepare(kwargs)
                value = function.call(**kwargs)
                if type(value) is CoroutineType or hasattr(value, "__await__"):
                    value = await value
                if type(value) not in _PLAIN and hasattr(value, "__aiter__"):
                    if told:
                        value = await self._tell_all(slot, id, value, encoder)
                    else:
                        value = await collect_async(value, encoder)
                else:
                    if function.settle is not None and type(value) is not list:
                        value = function.settle(value, encoder)
                    elif type(value) is GENERATOR and function.collect is None:
                        value = collect(value, encoder)
                    if function.collect is not None:
                        if told:
                            value = _px.tell_all(slot.index, id, value, encoder)
                        else:
                            value = function.collect(value, encoder)
            finally:
                slot.inside = slot.is_sync = False
            kind = SUCCEEDED
        except BaseException as raised:
            if _px.is_child():
                _px.leave_child(raised)
            if _is_cancel(raised, function, slot, id):
                kind = CANCELED
            else:
                value = fail(raised)
        if _px.is_child():
            _px.leave_child(None)
        try:
            self._answer(slot, id, kind, value, perf_counter_ns() - began, scope, encoder)
        except BaseException as escaped:
            self._give_up(escaped)

    async def _tell_all(self, slot: Slot, id: int, items: Any, encoder: Any) -> Any:
        """Tell every item as it comes."""
        index, number = 0, slot.index
        who = (number, id)
        router = self._router
        iterator = items.__aiter__()
        try:
            async for item in iterator:
                if router is not None:
                    router.flush(who)
                _px.tell(number, id, OUTPUT, item, encoder, index)
                index += 1
        except BaseException as raised:
            await _interrupt(iterator, raised)
            raise
        return _px.YIELDED

    def _answer(
        self, slot: Slot, id: int, kind: int, value: Any, took: int, scope: Scope, encoder: Any
    ) -> None:
        """Queue a prediction's answer and see that its slot goes on."""
        self._release(slot, id)
        metrics = None if scope._values is None else scope.collected()
        _px.reply(slot.index, id, kind, value, took, metrics, encoder, fail)
        self._continue(slot, took)

    def _taken_back(self, slot: Slot, message: Any) -> None:
        """Take note that the front took a request back."""

    def _release(self, slot: Slot, id: int) -> None:
        """Take note that what a slot had is over, and is about to be answered."""
        slot.task = None
        if self._router is not None:
            self._router.end((slot.index, id))
        if not self._dirty:
            self._unsent_since = perf_counter_ns()
        self._dirty.add(slot.index)

    def _continue(self, slot: Slot, took: int) -> None:
        """See that a slot goes on, and that what is queued is sent."""
        if self._starting:
            return  # _pump goes on
        if self._launch is None:
            # Not in this task's context, which the next one must not inherit.
            self._context.run(self._pump, slot)
        if not self._resuming:
            self._resuming = True
            self._loop.call_soon(self._resume, context=self._context)
        if took > _HOLD_NS or self._runs():
            self._arm()  # other tasks come before _resume, and may block the loop
        if self._launch is not None:
            self._ended.append(slot)

    def _resume(self) -> None:
        """Go on with the slots whose predictions have ended, and send what has gathered."""
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
            # Tasks are about to begin that may well end at once, and share the write.
            self._resuming = True
            self._loop.call_soon(self._resume, context=self._context)
        else:
            self._flush()

    def _arm(self) -> None:
        """Have the flusher send what is unsent, should the loop not come to it."""
        if not self._armed:
            self._armed = True
            _px.arm()

    def _flush(self) -> None:
        self._armed = False
        dirty, self._dirty = self._dirty, set()
        for index in dirty:
            _px.flush(index)

    def _on_cancel(self, signum: int, frame: Any) -> None:
        """Cancel the tasks of the predictions that the front names, each once."""
        for index, id in _px.canceled():
            slot = self._slots[index]
            if slot.id != id:
                continue
            slot.canceled = id
            if not slot.inside:
                pass  # before the model's code: it will not get there
            elif slot.coroutine.cr_running:
                # It blocks the loop: interrupt the very call.
                if slot.is_sync:
                    raise CancelationException("the prediction was canceled")
                raise asyncio.CancelledError
            else:
                self._loop.call_soon_threadsafe(self._cancel, slot, id)

    def _cancel(self, slot: Slot, id: int) -> None:
        if slot.id == id and slot.task is not None:
            slot.task.cancel()


def _is_cancel(raised: BaseException, function: Function | None, slot: Slot, id: int) -> bool:
    """Tell whether an exception ends its prediction as canceled.

    Whoever raised it: a model that gives up in this way has not failed, and its clients know it by
    that status from coglet. There each kind of function has its own exception; the other one is a
    failure, unless the end was asked for.
    """
    if isinstance(raised, asyncio.CancelledError):
        return True
    if not isinstance(raised, CancelationException):
        return False
    is_sync = function is not None and not function.is_async
    return is_sync or slot.canceled == id or _px.is_canceled(slot.index, id)


async def _interrupt(iterator: Any, raised: BaseException) -> None:
    """End an async generator that what was raised has not ended, so that its finally blocks run."""
    if isinstance(raised, asyncio.CancelledError) and hasattr(iterator, "athrow"):
        # The model sees it where it stands, as it would have if it had been at work.
        try:
            await iterator.athrow(raised)
        except StopAsyncIteration:
            pass
    if hasattr(iterator, "aclose"):
        await iterator.aclose()


async def _settled(tasks: set[asyncio.Task[Any]]) -> None:
    """Wait until tasks have ended, however they do."""
    if tasks:
        await asyncio.wait(tasks)
