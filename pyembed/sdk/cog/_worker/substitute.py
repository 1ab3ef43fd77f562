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


def looking_like(method: Any, ours: Callable[..., Any]) -> Any:
    """Return a method that calls ours, and has the parameters, defaults and place of another.

    ours gets what has a place by its place, and the rest as it comes.
    """
    code = getattr(method, "__code__", None)
    if code is None or method.__class__ is not type(looking_like):  # a library's object
        return _named(method, ours)
    names, rest = list(code.co_varnames[: code.co_argcount]), []
    if code.co_flags & 4:
        rest.append("*" + code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    if code.co_flags & 8:
        at = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
        rest.append("**" + code.co_varnames[at])
    if code.co_kwonlyargcount or "call" in names or len(names) < 2:
        return _named(method, ours)
    passed = ", ".join(names + rest)
    if code.co_posonlyargcount:
        names.insert(code.co_posonlyargcount, "/")
    text = f"""def make(call):
  def {method.__name__}({", ".join(names + rest)}):
    return call({passed})
  return {method.__name__}"""
    made: dict[str, Any] = {}
    exec(compile(text, code.co_filename, "exec"), method.__globals__, made)  # noqa: S102
    new = made["make"](ours)
    new.__code__ = new.__code__.replace(co_firstlineno=code.co_firstlineno)
    new.__defaults__ = method.__defaults__
    return _named(method, new, hint=False)


def _named(method: Any, new: Any, hint: bool = True) -> Any:
    from functools import update_wrapper

    named: Any = update_wrapper(new, method)
    if not hint:
        del named.__wrapped__  # plain Python has none
    return named
