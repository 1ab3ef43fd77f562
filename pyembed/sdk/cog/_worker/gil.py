"""The GIL of a free-threaded build, which an extension module may turn on."""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import ExtensionFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Python's own warning, which many models hide with a filter.
_TURNED_ON = "The global interpreter lock"


def watch() -> None:
    """Write to the log which extension module turns the GIL on. It stays on after that."""
    create: Any = ExtensionFileLoader.create_module

    def create_module(loader: Any, spec: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", _TURNED_ON, RuntimeWarning)
            module = create(loader, spec)
        for warning in caught:
            if str(warning.message).startswith(_TURNED_ON):
                _tell(spec.name)
            else:
                where = warning.category, warning.filename, warning.lineno
                warnings.showwarning(warning.message, *where, warning.file, warning.line)
        return module

    setattr(ExtensionFileLoader, "create_module", create_module)  # noqa: B010 (type checkers)


def _tell(name: str) -> None:
    print(
        f"cog: warning: the extension module {name} has turned the GIL on, because it does not "
        "declare that it runs without it: Python code of this worker now runs in one thread at a "
        "time. "
        f"Install a version of {name} for free-threaded Python, or set PYTHON_GIL=0 if it is safe",
        file=sys.stderr,
    )
