"""A model's example of its inputs: from `@cog.example(...)`, or from cog_example.json."""

from __future__ import annotations

import os

from ...errors import LoadError
from ..schema.constraints import mismatch
from ..schema.types import FileKind, Listing, Mapping, Nullable, PathKind, SecretKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..schema.signature import Signature
    from ..schema.types import Kind

EXAMPLE_FILE = "cog_example.json"  # load.py has the name too

# The largest file of an example in bytes: it becomes part of the OpenAPI document.
_LARGEST = 1 << 20


class Example:
    """Inputs that a model gives as an example.

    arguments  in the form for `coerce.make_prepare`: files are paths
    document   in the form that clients send: files are data URLs
    """

    def __init__(self, arguments: dict[str, Any], document: dict[str, Any]) -> None:
        self.arguments = arguments
        self.document = document


def read_example(
    given: dict[str, Any] | None, signature: Signature, root: str, may_be_file: bool = True
) -> Example | None:
    """Return the checked example of the decorator or the file; raise LoadError for faults.

    given is that of the decorator, or None. may_be_file says that the file is of this function.
    """
    where = f"{signature.file}:{signature.line}: {signature.name}: the example"
    file = os.path.join(root, EXAMPLE_FILE)
    if given is None:
        if not os.path.exists(file):
            return None
        where, given = f"{EXAMPLE_FILE}: the example", _read_file(file)
    elif may_be_file and os.path.exists(file):
        raise LoadError(
            f"{where} is given twice, by the decorator and by {EXAMPLE_FILE}; remove one"
        )
    fields = {field.name: field for field in signature.inputs}
    for name in given:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise LoadError(f'{where} has an unknown input "{name}"; valid inputs are: {known}')
    for name, field in fields.items():
        if field.required and name not in given:
            raise LoadError(f'{where} is missing the required input "{name}"')
    arguments, document = {}, {}
    for name, value in given.items():
        kind = fields[name].kind
        if kind.contains(SecretKind):
            raise LoadError(f'{where} has the secret input "{name}", but every client can read it')
        if hasattr(value, "tolist"):  # numpy's
            value = value.tolist()
        fault = mismatch(kind, value)
        if fault:
            raise LoadError(f'{where}: input "{name}" {fault}')
        try:
            arguments[name] = _map(kind, value, lambda path: _absolute(path, root))
            document[name] = _map(kind, value, lambda path: _data_url(path, root))
        except Exception as error:  # of the file, or of a value of the model's own type
            raise LoadError(f'{where}: input "{name}": {error}') from None
    return Example(arguments, document)


def _read_file(file: str) -> dict[str, Any]:
    import json

    with open(file, encoding="utf-8") as opened:
        try:
            given = json.load(opened)
        except ValueError as error:
            raise LoadError(f"{EXAMPLE_FILE} is not valid JSON: {error}") from None
    if not isinstance(given, dict):
        raise LoadError(f"{EXAMPLE_FILE} must be a JSON object of inputs")
    return given


def _map(kind: Kind, value: Any, file: Callable[[Any], str]) -> Any:
    """Return a value as JSON data; file converts paths."""
    if value is None:
        return None
    if isinstance(kind, Nullable):
        return _map(kind.inner, value, file)
    if isinstance(kind, (PathKind, FileKind)):
        return file(value)
    if isinstance(kind, Listing):
        return [_map(kind.inner, item, file) for item in value]
    if isinstance(kind, Mapping):
        return {key: _map(kind.inner, item, file) for key, item in value.items()}
    from ..values.encode import encode

    return encode(value, "its value")


def _absolute(path: Any, root: str) -> str:
    text = os.fspath(path)
    if "://" in text or text.startswith("data:"):
        raise ValueError("it is a URL; use a path in the model's folder")
    return os.path.join(root, text)


def _data_url(path: Any, root: str) -> str:
    file = _absolute(path, root)
    size = os.stat(file).st_size
    if size > _LARGEST:
        raise ValueError(f"{path} must have at most {_LARGEST} bytes, got {size}")
    import cog

    from ..values.outfile import data_url

    return data_url(cog.Path(file))
