"""Pools of threads, whose work is told by who handed it in, not by who started the thread."""

from __future__ import annotations

import sys
from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Carry = Callable[[Callable[..., Any]], Callable[..., Any]]

# Of each module with a pool, the class and its methods whose first argument, func, is called in a
# thread of the pool.
_POOLS = {
    "concurrent.futures.thread": ("ThreadPoolExecutor", ("submit",)),
    "multiprocessing.pool": ("ThreadPool", ("apply_async", "_map_async", "imap", "imap_unordered")),
}
_followed: set[str] = set()


def follow_pools(carry: Carry) -> None:
    """Have pools that are imported by now call what carry makes of the functions handed in.

    To be called whenever a thread is started as well: a pool that was imported since does so as it
    takes its first work.
    """
    for name, (pool, methods) in _POOLS.items():
        if name in sys.modules and name not in _followed:
            _followed.add(name)
            cls = getattr(sys.modules[name], pool)
            for method in methods:
                setattr(cls, method, _carrying(getattr(cls, method), carry))


def _carrying(method: Callable[..., Any], carry: Carry) -> Callable[..., Any]:
    @wraps(method)
    def hand_in(self: Any, *args: Any, **named: Any) -> Any:
        if args:
            args = (carry(args[0]), *args[1:])
        elif "func" in named:
            named["func"] = carry(named["func"])
        return method(self, *args, **named)

    return hand_in
