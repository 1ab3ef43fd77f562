"""The model's own health check, which runs when the front asks.

A check runs on a thread, because a synchronous prediction may compute meanwhile. An async check
runs on the loop of the predictions. The front asks again only after an answer or a timeout, so a
second thread means that the check before hangs. Later checks must still run.
"""

from __future__ import annotations

from functools import partial

import _px

from .. import errors
from ..logs.deferred import DeferredOutput
from ..primitives import start
from .wire import HEALTHY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from ..model.load import Predictor

_MOST = 4  # checks that may hang; each occupies a thread
_STUCK = f"Healthcheck failed: {_MOST} user-defined healthchecks are still running"


def answer_checks(
    predictor: Predictor, loop: asyncio.AbstractEventLoop | None, alone: bool
) -> None:
    """Start the thread that runs the checks.

    loop is that of async predictions. alone says that one prediction runs at a time: all output
    belongs to it, except that of a check.
    """
    deferred = DeferredOutput() if alone else None

    def answer_one(id: int) -> None:
        try:
            if deferred is not None:
                answer = deferred.run(lambda: _check(predictor, loop))
            else:
                answer = _check(predictor, loop)
            if _px.is_child():
                _px.exit_child(None)  # the check forked, and the child came back
            _px.control(HEALTHY, answer, id)
        finally:
            running.pop()

    def run() -> None:
        while id := _px.next_health():
            if len(running) < _MOST:
                running.append(id)
                start(partial(answer_one, id), "healthcheck")
            else:
                _px.control(HEALTHY, {"ok": False, "error": _STUCK}, id)

    running: list[int] = []
    start(run, "healthchecks")


def _check(predictor: Predictor, loop: asyncio.AbstractEventLoop | None) -> dict[str, Any]:
    try:
        healthy: Any = predictor.healthcheck() if predictor.healthcheck is not None else True
        if predictor.healthcheck_is_async:
            import asyncio

            if loop is not None:
                healthy = asyncio.run_coroutine_threadsafe(healthy, loop).result()
            else:
                healthy = asyncio.run(healthy)
    except BaseException as error:
        return {"ok": False, "error": f"Healthcheck failed: {errors.describe(error)}"}
    # Only False means unhealthy, numpy's too. None and 0 do not.
    if type(healthy).__name__ in ("bool", "bool_") and not healthy:
        return {"ok": False, "error": "Healthcheck failed: user-defined healthcheck returned False"}
    return {"ok": True}
