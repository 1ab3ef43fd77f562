"""The model's own health check, run whenever the front asks.

On a thread of its own: a check must be answered while a synchronous prediction computes,
and must not get in its way. An async check runs on the loop of the predictions.
"""

from __future__ import annotations

import threading

import _px

from . import errors
from .wire import HEALTHY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from .load import Predictor


def answer_checks(predictor: Predictor, loop: asyncio.AbstractEventLoop | None) -> None:
    """Start the thread that runs the checks; loop is that of async predictions."""
    thread = threading.Thread(target=_run, args=(predictor, loop), name="healthcheck", daemon=True)
    thread.start()


def _run(predictor: Predictor, loop: asyncio.AbstractEventLoop | None) -> None:
    while True:
        id = _px.next_health()
        if not id:
            return
        _px.control(HEALTHY, _check(predictor, loop), id)


def _check(predictor: Predictor, loop: asyncio.AbstractEventLoop | None) -> dict[str, Any]:
    check = predictor.healthcheck
    assert check is not None
    try:
        healthy = check()
        if predictor.healthcheck_is_async:
            import asyncio

            if loop is not None:
                healthy = asyncio.run_coroutine_threadsafe(healthy, loop).result()
            else:
                healthy = asyncio.run(healthy)
    except BaseException as error:
        return {"ok": False, "error": f"Healthcheck failed: {errors.describe(error)}"}
    if healthy is None or healthy:  # one that says nothing has no complaint
        return {"ok": True}
    return {"ok": False, "error": "Healthcheck failed: user-defined healthcheck returned False"}
