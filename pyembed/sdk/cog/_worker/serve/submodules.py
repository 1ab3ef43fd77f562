"""Submodules that Cog's server imports before the model, so that models use them without an import.

`import urllib` alone does not import `urllib.request`. Here it is imported at its first use, which
costs nothing for models that do not use it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

# Submodules that Cog 0.23.1 imports and their packages do not.
SUBMODULES = {
    "concurrent": ("futures",),
    "email": (
        "charset", "encoders", "errors", "feedparser", "header", "iterators", "message", "parser",
        "utils",
    ),
    "http": ("client", "cookiejar", "cookies"),
    "importlib": ("abc", "machinery", "metadata", "readers", "resources", "util"),
    "urllib": ("error", "parse", "request", "response"),
}  # fmt: skip


def find_extended(name: str, path: Any, target: Any, asking: Any) -> ModuleSpec | None:
    """Return a package's spec from the other finders; its module will be extended."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is None or finder is asking:
            continue
        spec: ModuleSpec | None = find(name, path, target)
        if spec is not None:
            loader: Any = spec.loader
            if loader is not None and not isinstance(loader, type):  # a class is shared by modules
                loader.exec_module = _extending(loader.exec_module)
            return spec
    return None


def _extending(execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def exec_module(module: ModuleType) -> None:
        execute(module)
        extend(module)

    return exec_module


def extend(module: ModuleType) -> None:
    """Make a package import its submodules at their first use, or follow what a module logs."""
    if module.__name__ not in SUBMODULES:
        from ..logs.records import follow

        follow(module)
        return
    package, names = module.__name__, SUBMODULES[module.__name__]

    def __getattr__(name: str) -> Any:  # noqa: N807, the module's own
        if name in names:
            __import__(f"{package}.{name}")
            return sys.modules[f"{package}.{name}"]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    vars(module).setdefault("__getattr__", __getattr__)
