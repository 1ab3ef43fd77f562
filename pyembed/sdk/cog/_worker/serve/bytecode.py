"""Writing this package's bytecode even if PYTHONDONTWRITEBYTECODE forbids the model's.

The package lies in the server's cache, and compiling takes ten times as long as loading. The
bootstrap covers the modules of every worker. This module covers those that are imported later.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib_external import FileFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


class CachingLoader(SourceFileLoader):
    """Loads a module, and writes its bytecode."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code, and write it to the cache."""
        asked, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            return super().get_code(fullname)
        finally:
            sys.dont_write_bytecode = asked


def cache_bytecode(package: str) -> None:
    """Write the bytecode of modules in this folder and below it."""
    for folder, _, _ in os.walk(package):
        sys.path_importer_cache[folder] = FileFinder(folder, (CachingLoader, [".py"]))
