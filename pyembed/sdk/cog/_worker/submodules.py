"""Submodules that a model need not import, for Cog's own server had imported them before it.

`import urllib` alone makes no `urllib.request`; under Cog it is there all the same, and models have
come to count on it. Here it is imported when it is asked for. Where nothing imports such a package
this costs nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

# What Cog 0.23.1 has imported of packages that do not import it themselves.
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
    """Return the spec of a package, as finders other than the asking one have it.

    Its module is extended once it is there.
    """
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
    """Give a package its submodules, to be imported when they are asked for."""
    package, names = module.__name__, SUBMODULES[module.__name__]

    def __getattr__(name: str) -> Any:  # noqa: N807, the module's own
        if name in names:
            __import__(f"{package}.{name}")
            return sys.modules[f"{package}.{name}"]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    vars(module).setdefault("__getattr__", __getattr__)
