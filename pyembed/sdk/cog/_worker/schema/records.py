"""Structured types: TypedDict, dataclasses, `cog.BaseModel`, pydantic 1 and 2."""

from __future__ import annotations

import sys

from .typeforms import annotations_of
from .types import Member, Nullable, Record, Unsupported, Untyped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...coder import Coder
    from .annotations import Reader


def coder_of(cls: type) -> Coder | None:
    """Return the registered coder of a type, without loading the registry."""
    registry = sys.modules.get("cog.coder")
    return registry.Coder.lookup(cls) if registry is not None else None


def read_record(reader: Reader, cls: Any) -> Record | None:
    """Return the record that a class describes, or None for other classes."""
    if issubclass(cls, dict) and hasattr(cls, "__required_keys__"):
        return _typed_dict(reader, cls)
    if isinstance(getattr(cls, "model_fields", None), dict):
        return _pydantic2(reader, cls)
    if isinstance(getattr(cls, "__fields__", None), dict):
        return _pydantic1(reader, cls)
    if hasattr(cls, "__dataclass_fields__"):
        return _dataclass(reader, cls)
    if _derives_from_base_model(cls):
        return _plain_class(reader, cls)
    return None


def _typed_dict(reader: Reader, cls: Any) -> Record:
    members = []
    for name, annotation in _hints(reader, cls).items():
        required = name in cls.__required_keys__
        members.append(_member(reader, name, _bare(annotation), required))
    return Record(cls.__name__, members, is_dict=True)


def _bare(annotation: Any) -> Any:
    """Return the type inside of Required[...], NotRequired[...] or ReadOnly[...]."""
    origin = getattr(annotation, "__origin__", None)
    if getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly"):
        return _bare(annotation.__args__[0])
    return annotation


def _pydantic2(reader: Reader, cls: Any) -> Record:
    members = [
        _member(reader, name, field.annotation, bool(field.is_required()), optional_counts=False)
        for name, field in cls.model_fields.items()
    ]
    return Record(cls.__name__, members, is_dict=False)


def _pydantic1(reader: Reader, cls: Any) -> Record:
    members = [
        _member(reader, name, field.annotation, field.required is True)
        for name, field in cls.__fields__.items()
    ]
    return Record(cls.__name__, members, is_dict=False)


def _dataclass(reader: Reader, cls: Any) -> Record:
    import dataclasses

    hints = _hints(reader, cls)
    members = []
    for field in dataclasses.fields(cls):
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        annotation = hints.get(field.name, field.type)
        members.append(_member(reader, field.name, annotation, not has_default))
    return Record(cls.__name__, members, is_dict=False)


def _plain_class(reader: Reader, cls: Any) -> Record:
    """Read a BaseModel that opted out of being a dataclass."""
    members = [
        _member(reader, name, annotation, not hasattr(cls, name))
        for name, annotation in _hints(reader, cls).items()
    ]
    return Record(cls.__name__, members, is_dict=False)


def _member(
    reader: Reader, name: str, annotation: Any, required: bool, optional_counts: bool = True
) -> Member:
    try:
        kind = reader.read(annotation)
    except Unsupported as exc:
        text = f"member {name!r}: {exc}"
        if reader.is_input and "Opaque" not in text:
            text += "; to take any object, write Annotated[..., cog.Opaque] for the whole type"
        raise Unsupported(text) from exc
    if optional_counts and isinstance(kind, Nullable):
        required = False
    if isinstance(kind, Untyped) and kind.name == "None":
        required = False
    return Member(name, kind, required)


def _derives_from_base_model(cls: type) -> bool:
    module = sys.modules.get("cog.model")
    return module is not None and issubclass(cls, module.BaseModel)


def _hints(reader: Reader, cls: type) -> dict[str, Any]:
    """Return a class's annotations, its bases' first, quoted ones evaluated.

    Each is evaluated with the names of its class's module, which may differ from
    that of the function.
    """
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        module = sys.modules.get(base.__module__)
        # The module's names take precedence: a member may have the name of its type.
        names = reader.names.of_class(vars(module) if module is not None else {}, vars(base))
        for name, annotation in annotations_of(base).items():
            if isinstance(annotation, str):
                annotation = names.evaluate(annotation)
            elif type(annotation).__name__ == "ForwardRef":
                annotation = names.evaluate(annotation.__forward_arg__)
            if "ClassVar" not in repr(annotation):
                hints[name] = annotation
    return hints
