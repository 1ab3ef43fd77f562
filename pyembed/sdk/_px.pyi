# The module that `serving_module.c` builds into a worker's interpreter, for type checkers.
from typing import Any

def __getattr__(name: str) -> Any: ...
