"""The builtins and Python's own modules for a model's module whose source is read.

They only compute and read files. Functions that reach out of the process, take time, or depend on
the time are unknown.
"""

from __future__ import annotations

import builtins
import os
import sys
from types import ModuleType

from .unknown import Refusal, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Modules that are imported as they are, with those below them.
PURE = frozenset(
    [
        "__future__",
        "abc",
        "cog",
        "coglet",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "inspect",
        "io",
        "itertools",
        "json",
        "keyword",
        "math",
        "numbers",
        "operator",
        "pathlib",
        "re",
        "string",
        "textwrap",
        "types",
        "typing",
        "typing_extensions",
        "unicodedata",
        "uuid",
        "warnings",
        "annotated_types",
        "pydantic",
        "pydantic_core",
    ]
)
_UNUSED = ["input", "exec", "eval", "compile", "breakpoint", "exit", "quit", "help", "delattr"]
_OUTSIDE = "it is not run when the source is only read"
_OS_NAMES = [
    "PathLike",
    "altsep",
    "curdir",
    "extsep",
    "fspath",
    "fsdecode",
    "fsencode",
    "getcwd",
    "linesep",
    "listdir",
    "name",
    "pardir",
    "path",
    "pathsep",
    "sep",
]
_SYS_NAMES = [
    "byteorder",
    "hexversion",
    "implementation",
    "maxsize",
    "platform",
    "version",
    "version_info",
]


def make_builtins(load: Callable[..., Any]) -> dict[str, Any]:
    """Return the builtins of a module that is read; load is its __import__."""
    names = dict(vars(builtins))
    names.update({name: Unknown(name, _OUTSIDE) for name in _UNUSED})
    names["__import__"] = load
    names["open"] = _open
    names["print"] = _print
    return names


def _open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
    if not isinstance(file, (str, os.PathLike)) or set(mode) - set("rbt"):
        raise Refusal("files are not written when the source is only read", "open(…)")
    return open(file, mode, *args, **kwargs)


def _print(*args: object, **kwargs: object) -> None:
    """Print nothing: the output of this process is the document."""


class _Partial(ModuleType):
    """A module of Python with the names that are safe to use."""

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        super().__init__(name)
        vars(self).update(names)

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown(f"{self.__name__}.{name}", _OUTSIDE)


def make_os() -> ModuleType:
    """Return `os` with only the environment and paths."""
    environ = dict(os.environ)  # which the model may change
    safe = {name: getattr(os, name) for name in _OS_NAMES}
    return _Partial("os", {**safe, "environ": environ, "getenv": environ.get})


def make_sys(path: list[str]) -> ModuleType:
    """Return `sys` with its constants and the module path."""
    return _Partial("sys", {"path": path, **{name: getattr(sys, name) for name in _SYS_NAMES}})


def make_importlib(load: Callable[[str], Any]) -> ModuleType:
    """Return `importlib` with import_module, which calls load."""

    def import_module(name: str, package: str | None = None) -> Any:
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            above = str(package or "").split(".")
            name = ".".join([*above[: len(above) - level + 1], name[level:]])
        return load(name)

    return _Partial("importlib", {"import_module": import_module})


def make_pkgutil() -> ModuleType:
    """Return `pkgutil` with iter_modules for given folders."""

    def iter_modules(path: Any = None, prefix: str = "") -> Any:
        if path is None:
            raise Refusal(
                "installed packages are unknown when the source is only read",
                "pkgutil.iter_modules()",
            )
        import pkgutil

        return pkgutil.iter_modules(path, prefix)

    return _Partial("pkgutil", {"iter_modules": iter_modules})
