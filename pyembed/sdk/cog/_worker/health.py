"""The model's own health check, run whenever the front asks.

On a thread of its own: a check must be answered while a synchronous prediction computes,
and must not get in its way. An async check runs on the loop of the predictions. The front asks
again only when it has an answer or has given up waiting, so that a second thread means that the
check before hangs: it must not be the end of all later ones.
"""

from __future__ import annotations

import threading

import _px

from . import errors
from .aside import Aside
from .wire import HEALTHY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from .load import Predictor

_MOST = 4  # checks that may hang; each keeps a thread
_STUCK = f"Healthcheck failed: {_MOST} user-defined healthchecks were begun and have not returned"


def answer_checks(
    predictor: Predictor, loop: asyncio.AbstractEventLoop | None, alone: bool
) -> None:
    """Start the thread that has the checks run.

    loop is that of async predictions. alone: one prediction runs at a time, and has all that is
    printed meanwhile, but for what a check prints.
    """
    aside = Aside() if alone else None

    def answer_one(id: int) -> None:
        try:
            if aside is not None:
                answer = aside.run(lambda: _check(predictor, loop))
            else:
                answer = _check(predictor, loop)
            if _px.is_child():
                _px.leave_child(None)  # the check forked, and the child came back
            _px.control(HEALTHY, answer, id)
        finally:
            free.release()

    def run() -> None:
        while id := _px.next_health():
            if free.acquire(blocking=False):
                threading.Thread(
                    target=answer_one, args=(id,), name="healthcheck", daemon=True
                ).start()
            else:
                _px.control(HEALTHY, {"ok": False, "error": _STUCK}, id)

    free = threading.Semaphore(_MOST)
    threading.Thread(target=run, name="healthchecks", daemon=True).start()


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
    # False alone is a complaint, numpy's too: nothing is none, and neither is an exit status of 0.
    if type(healthy).__name__ in ("bool", "bool_") and not healthy:
        return {"ok": False, "error": "Healthcheck failed: user-defined healthcheck returned False"}
    return {"ok": True}
