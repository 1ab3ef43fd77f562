"""The package's own bytecode is kept, whatever PYTHONDONTWRITEBYTECODE says of the model's.

Its folder is the server's, and compiling takes ten times as long as loading. The bootstrap sees to
what every worker imports; this is for what the model and its kind of serving need besides.
"""

from __future__ import annotations

import sys
from _frozen_importlib_external import FileFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


class Keeping(SourceFileLoader):
    """Loads a module, and writes its bytecode."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Compile it as if nobody had said that no bytecode is to be written."""
        asked, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            return super().get_code(fullname)
        finally:
            sys.dont_write_bytecode = asked


def keep(*folders: str) -> None:
    """Have modules right below these folders loaded so."""
    for folder in folders:
        sys.path_importer_cache[folder] = FileFinder(folder, (Keeping, [".py"]))
