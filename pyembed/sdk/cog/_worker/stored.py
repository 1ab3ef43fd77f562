"""Serving a function with faulty types by the document that was made when its image was built.

The front checks requests by that document, as Cog's own server does. Values that no type tells
how to convert are handed over as JSON has them.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import LoadError

DOCUMENT = ".cog/openapi_schema.json"


def is_excused(fault: LoadError, root: str) -> bool:
    """Tell whether the model's folder has a document, and the log what that stands in for."""
    if not _is_document(os.path.join(root, DOCUMENT)):
        return False
    print(f"cog: {fault}; {DOCUMENT} stands in for it, and no value is converted", file=sys.stderr)
    return True


def required_inputs(root: str, mode: str) -> dict[str, bool]:
    """Return each input of the document in the model's folder, and whether requests must bring it.

    Where there is no document it is empty.
    """
    name = "TrainingInput" if mode == "train" else "Input"
    try:
        component = _read(os.path.join(root, DOCUMENT))["components"]["schemas"][name]
        required = component.get("required", [])
        return {key: key in required for key in component["properties"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _is_document(file: str) -> bool:
    try:
        return isinstance(_read(file), dict)
    except (OSError, ValueError):
        return False


def _read(file: str) -> Any:
    with open(file, encoding="utf-8") as stream:
        return json.load(stream)
