"""The predictions of threads, if predictions run one at a time.

A thread carries the scope of the prediction that started it. Work in a pool of threads carries that
of the prediction that submitted it. After that prediction has ended, what they print is
unattributed. Threads of setup work for all predictions: they print for the running one.

`serve.sync.follow_starts` imports this module when there is a scope to carry.
"""

from __future__ import annotations

import _thread
from functools import partial

import _px

from ..scope import INACTIVE, Scope, current
from .pools import follow_pools
from .router import LeftoverOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Local(_thread._local):
    """The scope of this thread's prediction, or None."""

    scope: Scope | None = None


_local = _Local()
_px.use_thread_scopes(_local)


def scope_of_caller() -> Scope | None:
    """Return the scope of this code's prediction, or None."""
    scope = current.get()
    return _local.scope if scope is INACTIVE else scope


class LeftoverThreadOutput(LeftoverOutput):
    """The same for threads, whose scope is that of their creator, not of their context."""

    def is_leftover(self) -> bool:
        """Return whether this code belongs to a prediction that is not running."""
        scope = scope_of_caller()
        return scope is not None and scope is not _px.scope()


_leftovers = LeftoverThreadOutput()


def start_carrying(
    start: Callable[..., Any], function: Callable[..., Any], args: Any, named: Any
) -> Any:
    """Start a thread that carries the scope of its creator."""
    scope = scope_of_caller()
    if scope is None:
        return start(function, *args, **named)
    _leftovers.install()
    follow_pools(_carry)

    def run(*args: Any, **named: Any) -> None:
        _local.scope = scope
        function(*args, **named)

    # start may be that of `router.follow_threads`, which looks for the thread.
    run.__self__ = getattr(function, "__self__", None)  # type: ignore[attr-defined]
    return start(run, *args, **named)


def _run_for(scope: Scope | None, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Call a function for a scope, on a thread that may have another one."""
    before, _local.scope = _local.scope, scope
    try:
        return function(*args, **named)
    finally:
        _local.scope = before


def _carry(function: Callable[..., Any]) -> Callable[..., Any]:
    scope = scope_of_caller()
    if scope is not None:
        _leftovers.install()
    return partial(_run_for, scope, function)


def follow_setup() -> None:
    """Follow pools and event loops in threads that setup has started."""
    follow_pools(_carry)
    _leftovers.install()
