"""Threads and locks of Python's own, taken before the model is imported.

gevent and eventlet replace them by greenlets, which share one thread. Ours wait in C, so each
needs a thread.
"""

from __future__ import annotations

import sys
from _thread import RLock, allocate_lock, get_ident, start_new_thread
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "STARTS",
    "RLock",
    "allocate_lock",
    "are_replaced",
    "get_ident",
    "sleep",
    "start",
    "start_new_thread",
]

# The functions of _thread that start a thread; the second from Python 3.13 on.
STARTS = ("start_new_thread", "start_joinable_thread")


def are_replaced() -> bool:
    """Return whether the threads of the standard library are greenlets."""
    threading = sys.modules.get("threading")
    return threading is not None and threading.get_ident is not get_ident


def start(run: Callable[[], None], name: str) -> None:
    """Start a thread that does not keep the worker from its end."""
    if are_replaced():
        start_new_thread(run, ())
        return
    from threading import Thread

    Thread(target=run, name=name, daemon=True).start()


def block_signals() -> None:
    """Leave signals to the model's threads: what those block would go to this one."""
    from _signal import SIG_BLOCK, pthread_sigmask, valid_signals  # type: ignore[import-not-found]

    pthread_sigmask(SIG_BLOCK, valid_signals())
