"""Serving a function with faulty types by the OpenAPI document in its image.

The front checks requests by that document, as Cog's server does. Values without a usable type are
passed to the model as JSON data.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...errors import LoadError

DOCUMENT = ".cog/openapi_schema.json"
_LARGEST = 16 << 20  # characters


def is_excused(fault: LoadError, root: str) -> bool:
    """Return whether the model's folder has a document to use instead; log the fault if so."""
    if not _is_document(os.path.join(root, DOCUMENT)):
        return False
    print(f"cog: {fault}; {DOCUMENT} is used instead, and no value is converted", file=sys.stderr)
    return True


def required_inputs(root: str, mode: str) -> dict[str, bool]:
    """Return the inputs of the document in the model's folder, and whether each is required.

    The dict is empty without a document.
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
    with open(file, encoding="utf-8-sig") as stream:
        return json.loads(stream.read(_LARGEST))  # the rest of a larger one makes it no JSON
