"""Waits of the threads of slots, which a cancel ends early: see `interpreter_interrupt.h`."""

from __future__ import annotations

import _queue  # noqa: F401
import _socket  # noqa: F401
import gc
import sys

import _px

from ...exceptions import CancelationException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How a method waits, as in `interpreter_waitmethods.c`.
_OTHER, _LOCK, _QUEUE, _JOIN = range(4)

# Module, type, methods, how they wait.
_METHODS = (
    ("_thread", "LockType", ("acquire", "acquire_lock", "__enter__"), _LOCK),
    ("_thread", "RLock", ("acquire", "__enter__"), _LOCK),
    ("_thread", "_ThreadHandle", ("join",), _JOIN),  # from Python 3.13 on
    ("_queue", "SimpleQueue", ("get",), _QUEUE),
    (
        "_socket",
        "socket",
        ("_accept", "connect", "send", "sendall", "sendto", "sendmsg", "recv", "recv_into"),
        _OTHER,
    ),
    ("_ssl", "_SSLSocket", ("read", "write", "do_handshake"), _OTHER),
)


class Canceled(CancelationException):
    """What is raised in the thread of a slot."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(args or ("the prediction was canceled",)))
        _px.raised(self)


for _name in ("__name__", "__qualname__", "__module__", "__doc__"):
    setattr(Canceled, _name, getattr(CancelationException, _name))


def follow_waits() -> None:
    """Let a cancel end waits of the standard library in the threads of slots."""
    _px.set_interrupt_type(Canceled)
    for module, name, methods, kind in _METHODS:
        owner: Any = getattr(sys.modules.get(module), name, None)
        if owner is None:  # no code waits there, unless it is imported later
            continue
        # The type itself refuses to be changed. Its dict is what the proxy refers to.
        members: Any = next(iter(gc.get_referents(vars(owner))))
        acquire = members.get("acquire")
        for method in methods:
            original = members.get(method)
            if original is None:
                continue
            if kind == _LOCK:
                original = acquire  # since Python 3.15 the others take no limit
            members[method] = _px.wait_method(owner, method, original, kind)
        _px.type_modified(owner)
