"""Types that are marked as cog.Opaque."""

from __future__ import annotations

from .typeforms import SEQUENCES, qualified, show, union_args
from .types import Anything, Kind, Listing, Nullable, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .annotations import Reader


def read_opaque(reader: Reader, annotation: Any) -> Kind:
    """Return the kind of Annotated[T, Opaque]: an object, a list of objects, or either with None.

    T is not read further, so it need not exist when the module runs.
    """
    name = show(annotation)
    inner = _resolved(reader, annotation.__origin__)
    args = union_args(inner)
    options = [arg for arg in args if arg is not type(None)]
    if len(options) == 1:
        inner = _resolved(reader, options[0])
    origin = getattr(inner, "__origin__", None) or inner
    is_list = len(options) < 2 and isinstance(origin, type) and qualified(origin) in SEQUENCES
    kind: Kind = Listing(name, Anything("Any")) if is_list else Anything(name)
    return Nullable(name, kind) if len(options) < len(args) else kind


def _resolved(reader: Reader, annotation: object) -> Any:
    try:
        return reader.resolve(annotation)
    except Unsupported:
        return None  # a name for type checkers only
