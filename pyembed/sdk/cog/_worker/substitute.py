"""Functions of ours in the place of functions of the standard library, which look the same.

Libraries replace such functions too, and then treat what they find as what Python has there.
"""

from __future__ import annotations

import _px

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BUILTIN = type(len)


def substitute(name: str, make: Callable[[Any], Callable[..., Any]], *modules: Any) -> None:
    """Replace a function of a module, and copies of it in others, by what make returns for it."""
    old = getattr(modules[0], name, None)
    if old is None:
        return
    ours: Any = make(old)
    if ours is old:
        return
    if type(old) is _BUILTIN:
        new = _px.substitute(old, ours)
    else:  # a library has replaced it already
        from functools import wraps

        new = wraps(old)(ours)
    for module in modules:
        for copy in (name, "_" + name):
            if getattr(module, copy, None) is old:
                setattr(module, copy, new)
