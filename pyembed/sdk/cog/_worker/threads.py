"""Whose threads are whose, where predictions run one at a time.

A thread may outlive the prediction that started it. What it prints from then on goes to the
worker's log, not to the prediction that runs by then. Threads that setup started work for every
prediction, and print for the one that runs.

A thread carries the scope of the prediction that started it, and work in a pool of threads that of
the prediction that handed it in. This module is imported when there is something to carry; see
`scope.follow_starts`.
"""

from __future__ import annotations

import _thread
from functools import partial

from .logs import Strays
from .pools import follow_pools
from .scope import INACTIVE, Scope, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _px: Any = None  # a user's type checker does not find it
else:
    import _px


class _Local(_thread._local):
    """What this thread works for: the scope of a prediction, or None."""

    scope: Scope | None = None


_local = _Local()
_px.whose_thread(_local)


def scope_of_caller() -> Scope | None:
    """Return the scope of the prediction that this code works for, or None."""
    scope = current.get()
    return _local.scope if scope is INACTIVE else scope


class ThreadStrays(Strays):
    """Strays among threads, which have their scope by their creator, not by their context."""

    def is_stray(self) -> bool:
        """Tell whether this code belongs to another prediction than the one that runs."""
        scope = scope_of_caller()
        return scope is not None and scope is not _px.scope()


_strays = ThreadStrays()


def start_carrying(
    start: Callable[..., Any], function: Callable[..., Any], args: Any, named: Any
) -> Any:
    """Start a thread by this function, and have it carry the scope of its creator."""
    scope = scope_of_caller()
    if scope is None:
        return start(function, *args, **named)
    _strays.install()
    follow_pools(_carry)

    def run(*args: Any, **named: Any) -> None:
        _local.scope = scope
        function(*args, **named)

    return start(run, *args, **named)


def _run_for(scope: Scope | None, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Call a function as work of that scope, on a thread that may be another's."""
    before, _local.scope = _local.scope, scope
    try:
        return function(*args, **named)
    finally:
        _local.scope = before


def _carry(function: Callable[..., Any]) -> Callable[..., Any]:
    scope = scope_of_caller()
    if scope is not None:
        _strays.install()
    return partial(_run_for, scope, function)


def follow_setup() -> None:
    """Follow what setup left: pools, and event loops in threads, whose tasks have a context."""
    follow_pools(_carry)
    _strays.install()
