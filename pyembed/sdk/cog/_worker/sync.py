"""Serving a synchronous predict function: the loop itself is C (`px_serve.c`)."""

from __future__ import annotations

import sys

import _px

from . import errors
from .coerce import make_prepare
from .encode import GENERATOR, encode
from .items import collect, settler
from .scope import Scope, follow_starts
from .scope import current as variable
from .setup import run_setup
from .wire import METRIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from signal import SIGUSR1, signal
    from typing import Any

    from .load import Predictor
else:
    from _signal import SIGUSR1, signal  # signal itself adds enum to it, which takes 3 ms


class Function:
    """A function of the model's, as `_px.serve` wants it."""

    def __init__(self, predictor: Predictor) -> None:
        self.predict = predictor.function
        self.prepare = make_prepare(predictor.signature)
        self.collect = collect if predictor.is_generator else None
        self.settle = settler(predictor)
        if predictor.is_async:  # the train function, beside a predict function that is not
            from .bridge import Bridge

            bridge = Bridge(predictor.function)
            if predictor.is_async_generator:
                self.predict, self.collect, self.settle = bridge.iterate, collect, None
            else:
                self.predict = bridge.run


class SyncServer:
    """What `_px.serve` calls, as attributes it looks up once."""

    def __init__(self, predictor: Predictor | None, trainer: Predictor | None) -> None:
        self._main = predictor or trainer
        self.functions = (
            Function(predictor) if predictor is not None else None,
            Function(trainer) if trainer is not None else None,
        )
        self.scope = Scope
        self.variable = variable
        self.encode = encode
        self.keep = keep
        self.hook = hook
        self.fail = fail
        self.generator = GENERATOR
        self.draw = collect

    def setup(self, config: dict[str, Any]) -> None:
        """Run the model's setup function."""
        if self._main is not None:
            run_setup(self._main, config)

    def warm_up(self) -> None:
        """Run the model's example, where it gives one."""
        if self._main is not None and self._main.example is not None:
            from .warmup import warm_up

            warm_up(self._main, self._main.example, None)

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        if self._main is not None and self._main.healthcheck is not None:
            from .health import answer_checks

            answer_checks(self._main, None, alone=True)
        follow_starts()
        signal(SIGUSR1, _px.on_cancel)
        _px.serve(self)


def hook(id: int, slot: int = 0) -> Callable[[str, Any, str], None]:
    """Return what a scope calls to tell the front of its prediction's metrics."""

    def tell(name: str, value: Any, mode: str) -> None:
        try:
            _px.tell(slot, id, METRIC, {"name": name, "value": value, "mode": mode}, None, -1)
        except ValueError:
            pass  # a lone surrogate: the answer leaves the metric out as well

    return tell


def keep(files: dict[str, str]) -> Callable[..., Any]:
    """Return an `encode` that keeps output files for the front, which uploads them."""
    from .store import Store

    store = Store(files["folder"], files["token"])

    def keeping(value: Any, place: str = "output") -> Any:
        return encode(value, place, store)

    return keeping


def fail(error: BaseException) -> str:
    """Write an exception's traceback to the log and return its one-line form.

    Never raises, whatever the model's exception and its streams do when they are used: an
    exception from here would leave the prediction without an answer.
    """
    try:
        sys.stderr.flush()
        _px.log_switch()
    except BaseException:
        pass  # the front cannot tell where the traceback begins
    try:
        sys.stderr.write(errors.traceback_text(error))
    except BaseException:
        pass  # the model closed or replaced its stderr
    try:
        return errors.describe(error)
    except BaseException:
        return f"{type(error).__qualname__}: <its message cannot be shown>"
