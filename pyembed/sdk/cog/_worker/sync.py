"""Serving a synchronous predict function: the loop itself is C (`px_serve.c`)."""

from __future__ import annotations

import signal
import sys

import _px

from . import errors
from .coerce import make_prepare
from .encode import encode
from .scope import Scope
from .scope import _current as variable
from .setup import run_setup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .load import Predictor


class SyncServer:
    """What `_px.serve` calls, as attributes it looks up once."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.predict = predictor.function
        self.prepare = make_prepare(predictor.signature)
        self.collect = list if predictor.is_generator else None
        self.scope = Scope
        self.variable = variable
        self.encode = encode
        self.fail = fail

    def setup(self, config: dict[str, Any]) -> None:
        """Run the model's setup function."""
        run_setup(self._predictor, config)

    def serve(self) -> None:
        """Answer requests until the front closes the slot."""
        signal.signal(signal.SIGUSR1, _px.on_cancel)
        _px.serve(self)


def fail(error: BaseException) -> str:
    """Write an exception's traceback to the log and return its one-line form.

    Never raises, whatever the model's exception and its streams do when they are used: an
    exception from here would leave the prediction without an answer.
    """
    try:
        sys.stderr.write(errors.traceback_text(error))
    except BaseException:
        pass  # the model closed or replaced its stderr
    try:
        return errors.describe(error)
    except BaseException:
        return f"{type(error).__qualname__}: <its message cannot be shown>"
