"""What a failed statement might have changed in the model's modules.

These are the containers that its functions fill. If it might have imported a module of the model,
these are all containers.
"""

from __future__ import annotations

import dis
from types import FunctionType, ModuleType

from .unknown import Unknown, is_unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

CHANGEABLE = (list, dict, set, bytearray)
_CHANGING = frozenset(
    [
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "remove",
        "setdefault",
        "update",
    ]
)
_MAX_DEPTH = 5  # levels of calls that are followed


def forget_changed(
    names: list[str], local: Any, module: Any, imports: Any, own: Iterable[ModuleType], why: str
) -> None:
    """Set to Unknown what a statement that uses some names might have changed.

    imports are the functions that import a module by name. A statement that might have called one
    might have changed all containers of the model's modules.
    """
    spaces = [vars(each) for each in own]
    effects = _Effects(imports, {id(space) for space in spaces})
    effects.imports = "__import__" in names
    for name in names:
        effects.follow(local.get(name, module.get(name)), names, 0)
    if effects.imports:
        for space in spaces:
            _forget(space, [n for n in space if not n.startswith("__")], why)
    for space, changed in effects.changed:
        _forget(space, changed, why)


def _forget(space: Any, names: Iterable[str], why: str) -> None:
    for name in names:
        value = space.get(name)
        if not is_unknown(value) and isinstance(value, CHANGEABLE):
            space[name] = Unknown(name, why)


class _Effects:
    def __init__(self, importers: Any, own: set[int]) -> None:
        self.importers = importers
        self.own = own  # ids of the namespaces of the model's modules
        self.imports = False
        self.changed: list[tuple[Any, Iterable[str]]] = []
        self.seen: set[int] = set()

    def follow(self, value: Any, used: Iterable[str], depth: int) -> None:
        """Collect the effects of calling a value, or of its attributes that are used."""
        if is_unknown(value) or id(value) in self.seen:
            return
        if not isinstance(value, ModuleType):  # other attributes of it may be used later
            self.seen.add(id(value))
        if any(value is importer for importer in self.importers):
            self.imports = True
            return
        if isinstance(value, type):
            value = vars(value).get("__init__")
        if isinstance(value, ModuleType) and id(vars(value)) in self.own:
            for name in used:
                self.follow(vars(value).get(name), (), depth)
        if not isinstance(value, FunctionType) or depth > _MAX_DEPTH:
            return
        code, space = value.__code__, value.__globals__
        if id(space) not in self.own:
            return
        names = set(_names(code))
        self.imports = self.imports or "__import__" in names
        if names & _CHANGING or _stores(code):
            self.changed.append((space, names))
        for name in names:
            self.follow(space.get(name), names, depth + 1)


def _names(code: Any) -> Iterable[str]:
    """Yield the names that a function and its inner functions use."""
    yield from code.co_names
    for inner in code.co_consts:
        if hasattr(inner, "co_names"):
            yield from _names(inner)


def _stores(code: Any) -> bool:
    """Return whether a function sets or deletes items."""
    inner = [c for c in code.co_consts if hasattr(c, "co_names")]
    steps = dis.get_instructions(code)
    return any(s.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for s in steps) or any(
        map(_stores, inner)
    )
