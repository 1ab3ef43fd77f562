"""Serving a synchronous predict function: `serving_loop.c` runs the loop."""

from __future__ import annotations

import _thread
import os
import sys

import _px

from ...errors import InputError
from .. import errors
from ..logs.streams import ERROR, Record
from ..model.load import main_of
from ..primitives import STARTS, are_replaced
from ..scope import INACTIVE, Scope
from ..scope import current as variable
from ..substitute import substitute
from ..values.coerce import make_prepare
from ..values.encode import GENERATOR, encode
from ..values.iterators import collect, converter
from .wire import FUNCTION, METRIC, TRAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from signal import SIGUSR1, signal
    from typing import Any

    from ..model.load import Predictor
else:
    from _signal import SIGUSR1, signal  # signal imports enum, which takes 3 ms

_THREADS = "cog._worker.logs.threads"


class Function:
    """A function of the model, with the attributes that `_px.serve` uses.

    on_loop says that an event loop runs it if it is async.
    """

    __slots__ = ("collect", "convert", "is_async", "predict", "prepare")

    def __init__(self, predictor: Predictor, on_loop: bool = False) -> None:
        self.predict = predictor.function
        self.is_async = predictor.is_async
        self.prepare = make_prepare(predictor.signature)
        self.collect = collect if predictor.is_generator else None
        self.convert = converter(predictor)
        if (
            predictor.is_async and not on_loop
        ):  # a train function beside a synchronous predict function
            from .bridge import Bridge

            bridge = Bridge(predictor.function)
            if predictor.is_async_generator:
                self.predict, self.collect, self.convert = bridge.iterate, collect, None
            else:
                self.predict = bridge.run


class Server:
    """What all servers do alike. functions are those of `main.Model`."""

    functions: tuple[Function | None, ...] = ()
    _loop: Any = None  # of async code
    follow: Callable[..., Any] | None = None  # see trace

    names: tuple[str, ...] = ()  # of the functions from the third on

    def __init__(self, functions: tuple[Predictor | None, ...]) -> None:
        self._given = functions
        self._main: Predictor = main_of(functions)
        if len(functions) > 2:
            self.names = tuple(each.name for each in functions[2:] if each is not None)

    def function_of(self, flags: int, message: Any) -> Function:
        """Return the function that a request is for."""
        index = 1 if flags & TRAIN else 0
        if flags & FUNCTION:
            name = message["function"]
            index = self.names.index(name) + 2 if name in self.names else len(self.functions)
        function = self.functions[index] if index < len(self.functions) else None
        if function is None:
            raise RuntimeError("this model has no such function")
        return function

    def trace(self, follow: Callable[..., Any]) -> None:
        """Run the model's functions in the contexts of their predictions."""
        self.follow = follow
        for function in self.functions:
            if function is not None:
                function.predict = follow(function.predict)

    def setup(self, config: dict[str, Any]) -> None:
        """Run the model's setup function, on a loop if it is async."""
        result = call_setup(self._main, config)
        if self._main.setup_is_async and result is not None:
            self._complete(result)

    def after_fork(self) -> None:
        """Run the model's after_fork, if it has one; on a loop if it is async."""
        after = self._main.after_fork
        if after is not None and hasattr(result := after(), "__await__"):
            self._complete(result)

    def _complete(self, result: Any) -> None:
        if self._loop is None:
            self.begin_loop()
        self._loop.run_until_complete(result)

    def begin_loop(self) -> None:
        """Make a loop for the model's setup."""
        import asyncio

        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def end_loop(self) -> bool:
        """Close the loop of the model's setup, and return whether the model keeps it."""
        if self._loop is None:
            return False
        import asyncio
        import gc
        import weakref

        from .loop import close_loop

        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        close_loop(self._loop)
        asyncio.set_event_loop(None)
        kept = weakref.ref(self._loop)
        self._loop = None
        gc.collect()
        return kept() is not None

    def warm_up(self) -> None:
        """Run the examples that the functions have; on the loop if they are async."""
        for each in self._given:
            if each is not None and each.example is not None:
                from .warmup import warm_up

                warm_up(each, each.example, self._loop if each.is_async else None)


def functions_of(
    predictors: tuple[Predictor | None, ...], on_loop: bool
) -> tuple[Function | None, ...]:
    """Return the functions of a model as they are called; None for an absent one."""
    return tuple(Function(each, on_loop) if each is not None else None for each in predictors)


class SyncServer(Server):
    """The attributes that `_px.serve` looks up once and calls."""

    begin = flush_text = None  # predictions run one at a time

    def __init__(self, functions: tuple[Predictor | None, ...]) -> None:
        super().__init__(functions)
        self.functions = functions_of(functions, on_loop=False)
        self.scope = Scope
        self.variable = variable
        self.encode = encode
        self.keep = keep
        self.hook = hook
        self.fail = fail
        self.generator = GENERATOR
        self.collect = collect

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        if self._main.healthcheck is not None:
            from .health import answer_checks

            answer_checks(self._main, None, alone=True)
        follow_starts()
        if _px.is_signal_free():
            signal(SIGUSR1, _px.on_cancel)
        _px.serve(self)


def call_setup(predictor: Predictor, config: dict[str, Any]) -> Any:
    """Call setup, if there is one. It may return a coroutine.

    `setup(weights)` gets COG_WEIGHTS, else ./weights if that exists.
    """
    if predictor.setup is None:
        return None
    if not predictor.setup_takes_weights:
        return predictor.setup()
    weights: str | None = config.get("weights") or None
    if weights is None and os.path.exists("weights"):
        weights = "weights"
    return predictor.setup(weights=None if weights is None else predictor.weights_argument(weights))


def hook(id: int, slot: int = 0) -> Callable[[str, Any, str], None]:
    """Return a function that sends a metric of a prediction to the front."""

    def emit(name: str, value: Any, mode: str) -> None:
        try:
            _px.emit(slot, id, METRIC, {"name": name, "value": value, "mode": mode}, None, -1)
        except ValueError:
            pass  # a single surrogate: the answer leaves the metric out as well

    return emit


def keep(files: dict[str, Any]) -> Callable[..., Any]:
    """Return the `encode` that a request wants.

    It stores output files, which the front uploads, or leaves arrays as they are in memory.
    """
    if "folder" not in files:
        from ..values import tensors

        return tensors.encode
    from ..values.store import Store

    store = Store(files["folder"], files["token"])
    if files.get("tensors"):
        from ..values import tensors

        return tensors.storing(store)

    def keeping(value: Any, place: str = "output") -> Any:
        return encode(value, place, store)

    return keeping


def fail(error: BaseException) -> str | dict[str, Any]:
    """Write an exception's traceback to the log and return what the front is told of it.

    Never raises, even if the model's exception or its streams do: the prediction needs an answer.
    """
    if isinstance(error, InputError):
        return errors.answer_of(error)
    try:
        sys.stderr.write(Record.of(errors.traceback_text(error), ERROR))
    except BaseException:
        pass  # the model closed or replaced its stderr
    return errors.answer_of(error)


def follow_starts() -> None:
    """Make threads that predictions start carry their scopes: see `logs.threads`.

    That module is imported when a prediction starts a thread.
    """
    _px.use_scope_variable(variable, INACTIVE)
    if are_replaced():
        return
    threading = sys.modules.get("threading")  # it has copies of the functions
    for name in STARTS:
        substitute(name, _following, _thread, threading)
    if threading is not None and threading.active_count() > 1:
        from ..logs.threads import follow_setup

        follow_setup()


def _following(start: Callable[..., Any]) -> Callable[..., Any]:
    def start_thread(function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        if variable.get() is INACTIVE and _THREADS not in sys.modules:
            return start(function, *args, **named)  # of no prediction
        from ..logs.threads import start_carrying

        return start_carrying(start, function, args, named)

    return start_thread
