"""Pools of threads, whose work belongs to the prediction that submits it."""

from __future__ import annotations

import sys
from functools import partial, update_wrapper

import _px

from ..substitute import looking_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Carry = Callable[[Callable[..., Any]], Callable[..., Any]]

# Module: the class of the pool, and its methods whose first argument, func, runs in a thread.
_POOLS = {
    "concurrent.futures.thread": ("ThreadPoolExecutor", ("submit",)),
    "multiprocessing.pool": ("ThreadPool", ("apply_async", "_map_async", "imap", "imap_unordered")),
}
_followed: set[str] = set()


def follow_pools(carry: Carry) -> None:
    """Make the pools that are imported apply carry to functions that are submitted.

    Also called at the start of each thread: a pool that is imported later starts one for its first
    work.
    """
    for name, (pool, methods) in _POOLS.items():
        if name in sys.modules and name not in _followed:
            _followed.add(name)
            cls = getattr(sys.modules[name], pool)
            for method in methods:
                owner = next(base for base in cls.__mro__ if method in vars(base))
                setattr(owner, method, _carrying(getattr(cls, method), cls, carry))


def _carrying(method: Callable[..., Any], cls: type, carry: Carry) -> Any:
    def carried(function: Callable[..., Any]) -> Callable[..., Any]:
        work = partial(_run_for, _px.thread_owner(), carry(function))
        return update_wrapper(work, function)  # libraries below ask for its name

    def submit(self: Any, *args: Any, **named: Any) -> Any:
        if not _runs_here(self, cls):
            pass
        elif args:
            args = (carried(args[0]), *args[1:])
        elif "func" in named:
            named["func"] = carried(named["func"])
        return method(self, *args, **named)

    return looking_like(method, submit)


def _runs_here(pool: Any, cls: type) -> bool:
    """Return whether the pool calls its functions here, not in a process or an interpreter."""
    prepare = getattr(type(pool), "prepare_context", None)  # from Python 3.14 on
    ours = getattr(cls, "prepare_context", None)
    same = getattr(prepare, "__func__", None) is getattr(ours, "__func__", None)
    return isinstance(pool, cls) and same


def _run_for(owner: int, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Call a function whose raw writes are those of an owner: see `process_threads.c`."""
    before = _px.set_thread_owner(owner)
    try:
        return function(*args, **named)
    finally:
        _px.set_thread_owner(before)
