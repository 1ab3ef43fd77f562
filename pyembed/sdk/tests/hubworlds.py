"""Worlds of predictions that call a batched method, on a loop and on threads.

A world runs predictions, batches and time one step after the other, in an order that a seed
decides.
"""

from __future__ import annotations

import asyncio
import heapq
import importlib
import random
import sys
import threading
import types
from collections import deque
from contextvars import copy_context
from functools import partial
from itertools import count

from cog import batch
from cog._batch import BatchedMethod

OURS = ("batch.loopbatches", "batch.threadbatches", "batch.hub", "batch.steps", "batch.futures")
OURS += ("batch.methodthreads", "batch.report", "logs.router", "serve.sync", "logs.deferred")
OUTCOMES = ("fine",) * 6 + ("raises", "short", "bad element", "odd element", "odd error")


class Odd:
    """What fails whoever asks for its class, truth or number."""

    @property
    def __class__(self):
        raise ValueError("no class")

    def __bool__(self):
        raise ValueError("no truth")

    __eq__ = __hash__ = __len__ = __bool__


class OddError(Exception):
    __class__ = property(Odd.__bool__)
    __traceback__ = property(Odd.__bool__)
    __str__ = Odd.__bool__

    def with_traceback(self, _):
        raise ValueError("no traceback")


class Key:
    """A key whose hash changes, and that cannot be compared."""

    def __init__(self):
        self.hashes = count()

    def __hash__(self):
        return next(self.hashes) % 2

    def __eq__(self, other):
        raise ValueError("no comparison")


class Canceled(BaseException):
    """Ends a prediction."""


class Stopped(BaseException):
    """Ends the threads of a world."""


class World:
    """Predictions that call one method, and the choices of one order."""

    def __init__(self, worker, seed, options):
        self.random = random.Random(seed)
        self.px = worker
        self.now = 0
        self.running = 0  # batches
        self.ended = {}  # by prediction: "done", "canceled" or the error
        self.defects = []
        self.options = {"max_size": 2, "isolate": self.chance(2), **options}
        self.outcomes = OUTCOMES

    def chance(self, of):
        return self.random.randrange(of) == 0

    def method(self, is_async):
        """Return the plan of the method, and the object that has it."""

        def fine(x, key):
            assert len(x) <= self.options["max_size"]
            outcome = self.random.choice(self.outcomes)
            if outcome == "raises":
                raise ValueError("raises")
            if outcome == "odd error":
                raise OddError
            results = [(each, key if type(key) is int else None) for each in x]
            if outcome == "bad element":
                results[0] = StopIteration() if self.chance(2) else OddError()
            if outcome == "odd element":
                results[0] = Odd()
            return results[1:] if outcome == "short" else results

        class Model:
            def plain(self, x: list[object], key: object) -> list[object]:
                return fine(x, key)

            async def later(self, x: list[object], key: object) -> list[object]:
                await asyncio.sleep(0)
                return fine(x, key)

        function = Model.later if is_async else Model.plain
        return BatchedMethod(function, _options(function, self.options)).plan(), Model()

    def key(self):
        return self.random.choice([0, 0, 0, 1, Key(), [1]])

    def check(self, name, key, result):
        if type(result) is not Odd:
            assert result == (name, key if type(key) is int else None), (name, key, result)


def _options(function, options):
    return batch(**options)(function).options


class Trace:
    """Calls something at one instruction of our code."""

    def __init__(self, at, act):
        self.left = at
        self.act = act

    def __enter__(self):
        sys.settrace(self._call)

    def __exit__(self, *_):
        sys.settrace(None)

    def _call(self, frame, event, _):
        name = frame.f_code.co_filename
        if "/cog/" not in name and frame.f_code.co_name != "call_soon":
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame, event, _):
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                self.act()
        return self._step


class Loop:
    """An event loop whose turns and time a world decides."""

    def __init__(self, world):
        self.world = world
        self.ready = deque()
        self.later = []
        self.number = count()

    def call_soon(self, call, *args, context=None):
        handle = types.SimpleNamespace(run=partial((context or copy_context()).run, call, *args))
        handle.cancel = lambda: setattr(handle, "run", lambda: None)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay, call, *args, context=None):
        handle = self.call_soon(call, *args, context=context)
        self.ready.pop()
        heapq.heappush(self.later, (self.world.now + int(delay * 1e9), next(self.number), handle))
        return handle

    def create_future(self):
        return asyncio.Future(loop=self)

    def create_task(self, coroutine):
        return asyncio.Task(coroutine, loop=self)

    def get_debug(self):
        return False

    def call_exception_handler(self, context):
        if "never retrieved" not in context["message"]:  # of a call whose caller was canceled
            self.world.defects.append(context)

    def turn(self):
        """Run what is ready, or the next timer."""
        if not self.ready and self.later:
            self.world.now, _, handle = heapq.heappop(self.later)
            self.ready.append(handle)
        asyncio._set_running_loop(self)
        for _ in range(len(self.ready)):
            self.ready.popleft().run()
        asyncio._set_running_loop(None)

    @property
    def idle(self):
        return not self.ready and not self.later


class LoopWorld(World):
    """Predictions on an event loop."""

    def __init__(self, worker, seed=0, is_async=False, **options):
        super().__init__(worker, seed, options)
        worker.wake = lambda waiters: None
        module = importlib.import_module("cog._worker.batch.loopbatches")
        steps = sys.modules["cog._worker.batch.steps"]
        steps.perf_counter_ns = lambda: self.now
        self.part = sys.modules["cog._worker.batch.methodthreads"].run_part
        self.owner = sys.modules["cog._worker.logs.router"].owner
        self.loop = Loop(self)
        router = types.SimpleNamespace(begin=self.owner.set, flush=lambda who: None, end=lambda who: None)
        self.hub = module.LoopHub(self.loop, router, None, [], self.defects.append)
        self.hub.threads = lambda count: types.SimpleNamespace(put=self.put)
        self.on_threads = []
        self.batcher = self.hub.batcher(*self.method(is_async))
        self.tasks = {}
        self.interrupted = False

    def put(self, batch, end):
        self.on_threads.append((batch, end))
        assert len(self.on_threads) <= self.options.get("concurrent", 1)

    def end_batch(self):
        batch, end = self.on_threads.pop(self.random.randrange(len(self.on_threads)))
        self.loop.call_soon(end, batch, *self.part(batch))

    def predict(self, name, calls, at=0):
        """Start a prediction; its last call is canceled at an instruction."""
        from cog._worker.scope import Scope, current

        who = (name, name)

        def cancel():
            self.interrupted = True
            raise asyncio.CancelledError

        async def run():
            current.set(Scope())
            self.owner.set(who)
            try:
                for left in range(calls, 0, -1):
                    key = self.key()
                    with Trace(at if left == 1 else 0, cancel):
                        call = self.batcher(name, key)
                    self.check(name, key, await call)
                self.ended[name] = "done"
            except BaseException as error:
                self.ended[name] = error

        def end(_):
            self.ended.setdefault(name, "canceled before its first step")
            self.hub.end(who)

        self.hub.begin(who)
        self.tasks[name] = self.loop.create_task(run())
        self.tasks[name].add_done_callback(end)

    def finish(self):
        """Let everything end; fail if something does not."""
        for _ in range(10_000):
            if self.on_threads:
                self.end_batch()
            elif self.loop.idle:
                break
            self.loop.turn()
        assert set(self.tasks) == set(self.ended), "predictions wait for ever"
        assert self.defects == []
        assert not self.hub._callers
        assert not self.hub.delayed
        assert not self.batcher._running
        assert not self.batcher._inbox
        assert not self.batcher._calls


class Actor:
    """A thread that runs when the world says so."""

    def __init__(self, world, run):
        self.world = world
        self.go = threading.Semaphore(0)
        self.waiter = self.until = None  # what it waits for, and how long; None: nothing
        self.cancel = False
        self.run = run
        self.over = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        self.go.acquire()
        try:
            self.run()
        except Stopped:
            pass
        except BaseException as error:
            self.world.defects.append(error)
        self.over = True
        self.world.back.release()

    def pause(self):
        """Let others run."""
        self.world.back.release()
        self.go.acquire()
        if self.world.stopped:
            raise Stopped

    def can_run(self):
        return self.waiter is None or self.waiter.woken or self.cancel

    def step(self):
        self.world.current = self
        self.go.release()
        assert self.world.back.acquire(timeout=60), "a step ends"


class Lock:
    """A lock that lets others run while one waits for it."""

    def __init__(self, world):
        self.world = world
        self.owner = None

    def __enter__(self):
        while self.owner is not None:
            self.world.current.pause()
        self.owner = self.world.current

    def __exit__(self, *_):
        self.owner = None


class ThreadWorld(World):
    """Predictions on threads."""

    def __init__(self, worker, seed=0, is_async=False, **options):
        super().__init__(worker, seed, options)
        self.back = threading.Semaphore(0)
        self.actors, self.predictions = [], {}
        self.current = None
        self.stopped = False
        worker.wake, worker.wait = self.wake, self.wait
        self.module = module = importlib.import_module("cog._worker.batch.threadbatches")
        for name in ("threadbatches", "steps", "report"):
            of = sys.modules[f"cog._worker.batch.{name}"]
            setattr(of, "time" if name == "report" else "perf_counter_ns", self.clock(name))
        module.start_unowned = lambda run, name: self.actors.append(Actor(self, run))
        module.block_signals = lambda: None
        importlib.import_module("cog._worker.errors").abort = self.abort
        self.owner = sys.modules["cog._worker.logs.router"].owner
        router = types.SimpleNamespace(begin=self.owner.set, flush=lambda who: None, end=lambda who: None)
        self.hub = module.ThreadHub(router, None)
        self.hub.lock = Lock(self)
        self.batcher = self.hub.batcher(*self.method(False))

    def clock(self, name):
        now = lambda: self.now  # noqa: E731
        return types.SimpleNamespace(perf_counter_ns=now) if name == "report" else now

    def abort(self, error):
        if type(error) is not Stopped:
            self.defects.append(error)
        raise Stopped

    def wake(self, waiters):
        for waiter in waiters:
            waiter.woken = True

    def wait(self, waiter, seconds, wakes):
        self.wake(wakes)
        me = self.current
        me.waiter = waiter
        me.until = None if seconds in (None, float("inf")) else self.now + int(seconds * 1e9)
        me.pause()
        me.waiter = None
        woken, waiter.woken = waiter.woken, False
        if not woken and me.cancel:
            me.cancel = False
            raise Canceled
        return woken

    def predict(self, name, calls, at=0, act=None):
        from cog._worker.scope import Scope, current

        who = (name, name)

        def run():
            current.set(Scope())
            self.owner.set(who)
            with self.hub.lock:
                self.hub.begin(who)
            try:
                for left in range(calls, 0, -1):
                    key = self.key()
                    with Trace(at if left == 1 else 0, act):
                        result = self.batcher(name, key)
                    self.check(name, key, result)
                self.ended[name] = "done"
            except Stopped:
                raise
            except BaseException as error:
                self.ended[name] = error
            sys.settrace(None)
            with self.hub.lock:
                self.hub.end(who)

        actor = Actor(self, partial(copy_context().run, run))
        self.actors.append(actor)
        self.predictions[name] = actor

    def turn(self):
        """Let one thread run, or time pass; return whether there was one."""
        able = [a for a in self.actors if not a.over and a.can_run()]
        timed = [a for a in self.actors if not a.over and not a.can_run() and a.until is not None]
        if timed and (not able or self.chance(5)):
            actor = min(timed, key=lambda a: a.until)
            self.now = max(self.now, actor.until)
        elif able:
            actor = self.random.choice(able)
        else:
            return False
        actor.step()
        return True

    def finish(self):
        try:
            for _ in range(20_000):
                if set(self.predictions) == set(self.ended) or not self.turn():
                    break
            assert set(self.predictions) == set(self.ended), "predictions wait for ever"
            while any(not a.over for a in self.predictions.values()):
                assert self.turn(), "they end"
            assert self.defects == []
            assert not self.hub._callers
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.stopped = True
        for actor in self.actors:
            if not actor.over:
                actor.step()
