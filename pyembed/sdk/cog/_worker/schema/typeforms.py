"""Inspects annotations without importing typing: forms, arguments, names, spelling."""

from __future__ import annotations

import sys

from .types import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNION_TYPE = type(int | str)

# Classes of dicts; frozendict from Python 3.15 on.
DICTS = (dict, getattr(sys.modules["builtins"], "frozendict", dict))

# Origins by qualified name: a lookup of the classes would import their modules.
SEQUENCES = {"list", "collections.abc.Sequence", "collections.abc.MutableSequence"}


def annotations_of(thing: Any) -> dict[str, Any]:
    """Return the annotations of a function or a class.

    From Python 3.14 on they are evaluated here. What needs a name that is missing, as one of
    `if TYPE_CHECKING:`, stays quoted.
    """
    try:
        return dict(getattr(thing, "__annotations__", None) or {})
    except NameError:
        from annotationlib import Format, get_annotations  # type: ignore[import-not-found]

        return dict(get_annotations(thing, format=Format.FORWARDREF))


def is_form(origin: object, name: str) -> bool:
    """Return whether origin is a special form of typing or typing_extensions."""
    return origin is not None and any(
        origin is getattr(sys.modules[module], name, None)
        for module in ("typing", "typing_extensions")
        if module in sys.modules
    )


def is_opaque(annotation: object) -> bool:
    """Return whether an annotation is marked as `cog.Opaque`."""
    marks = getattr(annotation, "__metadata__", ())
    return any(type(mark).__name__ == "_OpaqueMarker" for mark in marks)


def origin_of(annotation: object) -> Any:
    """Return the origin of a form, for example list of `list[int]`; None for other values.

    From Python 3.14 on `typing.Union` is a class with descriptors of these names.
    """
    return None if annotation is UNION_TYPE else getattr(annotation, "__origin__", None)


def arguments(annotation: object) -> tuple[Any, ...]:
    """Return the arguments of a form, for example int of `list[int]`; () for other values."""
    return () if annotation is UNION_TYPE else getattr(annotation, "__args__", ())


def union_args(annotation: object) -> tuple[Any, ...]:
    """Return the types of a union, () for other values."""
    is_union = isinstance(annotation, UNION_TYPE) or is_form(origin_of(annotation), "Union")
    return arguments(annotation) if is_union else ()


def qualified(cls: type) -> str:
    """Return a class's name with its module, without one for builtins."""
    module = cls.__module__
    return cls.__qualname__ if module == "builtins" else f"{module}.{cls.__qualname__}"


def show(annotation: object) -> str:
    """Return an annotation as in source code, the same on every Python version.

    >>> show(list[int]), show(int | None)
    ('list[int]', 'int | None')
    """
    if annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, str):
        return annotation
    quoted = getattr(annotation, "__forward_arg__", None)
    if quoted is not None:
        return str(quoted)
    if hasattr(annotation, "__metadata__"):
        return show(origin_of(annotation))
    origin = origin_of(annotation)
    args = arguments(annotation)
    if isinstance(annotation, UNION_TYPE) or is_form(origin, "Union"):
        return " | ".join(show(arg) for arg in args)
    if is_form(origin, "Literal"):
        return f"Literal[{', '.join(repr(arg) for arg in args)}]"
    name = getattr(origin or annotation, "__name__", None) or repr(annotation)
    if not args or origin is None:
        return str(name)
    inner = ", ".join("..." if arg is Ellipsis else show(arg) for arg in args)
    return f"{name}[{inner}]"


def plain(value: Any) -> Any:
    """Return the value behind an enum member, or the value itself."""
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.Enum):
        return value.value
    return value


def enum_of(values: tuple[Any, ...]) -> type | None:
    """Return the Enum class of all values but None, if they have one."""
    enum = sys.modules.get("enum")
    types = {type(value) for value in values if value is not None}
    if enum is None or len(types) != 1:
        return None
    only_type = types.pop()
    return only_type if issubclass(only_type, enum.Enum) else None


# A name in a module whose source is only read: what makes the code of a quoted annotation.
REDUCE = "__static_reduce__"


class Names:
    """The names for quoted annotations: the module's, the builtins, then the fallback's."""

    def __init__(self, module: dict[str, Any], fallback: dict[str, Any] | None = None) -> None:
        self.module = module
        builtins = vars(sys.modules["builtins"])
        self.fallback = {n: v for n, v in (fallback or {}).items() if n not in builtins}

    def of_class(self, module: dict[str, Any], members: Any) -> Names:
        """Return the names for annotations of a class: its module's, its own, then these."""
        return Names(module, {**members, **self.module})

    def evaluate(self, text: str) -> object:
        """Return the value of a quoted annotation."""
        try:
            # Locals come first, so these are the module's names. eval adds to its
            # globals, hence the copy.
            reduce = self.module.get(REDUCE)
            code = reduce(text) if reduce is not None else text
            result: object = eval(code, dict(self.fallback), self.module)  # noqa: S307
        except NameError as exc:
            raise Unsupported(
                f"the annotation {text!r} cannot be read: {exc}; "
                "import the name outside of `if TYPE_CHECKING:`"
            ) from exc
        except Exception as exc:
            raise Unsupported(
                f"the annotation {text!r} cannot be read: {type(exc).__name__}: {exc}"
            ) from exc
        return result
