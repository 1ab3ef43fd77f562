"""Checks that a declaration is consistent, made once when the model is loaded."""

from __future__ import annotations

from .typeforms import DICTS, plain
from .types import (
    Anything,
    Array,
    Choice,
    Coded,
    FileKind,
    Kind,
    Listing,
    Mapping,
    Nullable,
    OneOf,
    PathKind,
    Record,
    Scalar,
    SecretKind,
    Streamed,
    strip,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ...input import FieldInfo
    from .signature import Field


def with_choices(kind: Kind, choices: list[Any]) -> tuple[Kind, str]:
    """Return the kind narrowed to the choices of Input(), or what is wrong with them.

    The choices of a list are those of its items.
    """
    if not choices:
        return kind, "choices must not be empty"
    if isinstance(kind, (Nullable, Listing)):
        inner, problem = with_choices(kind.inner, choices)
        return type(kind)(kind.name, inner), problem
    values = [plain(choice) for choice in choices]
    if isinstance(kind, Choice):
        enum = kind.enum
        unknown = [value for value in values if value not in kind.values]
        if unknown:
            return kind, f"choice {unknown[0]!r} is not a value of {kind.name}"
        return Choice(kind.name, values, enum), ""
    if not isinstance(kind, Scalar):
        return kind, f"choices cannot be given for {kind.name}; only for str, int, float and bool"
    narrowed = Choice(kind.name, values)
    narrowed.base = kind.name
    return narrowed, ""


def problem(field: Field) -> str:
    """Return what is wrong with a field's declaration, or ""."""
    info = field.info
    return _bad_bounds(info) or _bad_items(field) or _bad_pattern(info) or _bad_default(field)


def _bad_items(field: Field) -> str:
    size, kind = field.info.max_items, strip(field.kind)
    if isinstance(kind, Streamed) and (field.has_default or field.none_default):
        return "a streamed input cannot have a default; a session without items gives none"
    if size is None:
        return ""
    if not isinstance(kind, Listing):
        return f"max_items is for a list or a streamed input, not {kind.name}"
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        return f"max_items must be an int of 1 or more, got {size!r}"
    return ""


def _bad_bounds(info: FieldInfo) -> str:
    for name in ("ge", "le"):
        value = getattr(info, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            return f"{name} must be a number, got {value!r}"
        if value is not None and not _finite(value):
            return f"{name} must be finite, got {value!r}; leave it out for no bound"
    for name in ("min_length", "max_length"):
        value = getattr(info, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            return f"{name} must be an int, got {value!r}"
        if value is not None and value < 0:
            return f"{name} must be 0 or more, got {value}"
    return ""


def _bad_pattern(info: FieldInfo) -> str:
    if info.regex is None:
        return ""
    import re

    if not isinstance(info.regex, str):
        return f"regex must be a str, got {info.regex!r}"
    try:
        # JSON Schema and the front know \p{...}; Python's re does not.
        re.compile(re.sub(r"\\[pP]\{[^{}]*\}", r"\\w", info.regex))
    except re.error as exc:
        return f"regex {info.regex!r} does not compile: {exc}"
    return ""


def _bad_default(field: Field) -> str:
    default = field.default
    if default is None:
        return ""
    fault = _not_a_choice(field.kind, default) or _no_array(field.kind, default)
    if not field.kind.contains(SecretKind):
        fault = fault or _out_of_bounds(field.info, plain(default))
    return f"the default {_shown(field)}{fault}" if fault else ""


def warnings(field: Field) -> list[str]:
    """Return warnings about a field's declaration, which is served as Cog serves it."""
    faults = []
    choice = field.choices
    if field.info.choices is not None and choice is not None and choice.base is not None:
        base = Scalar(choice.base)
        odd = [value for value in choice.values if mismatch(base, value)]
        if odd:
            faults.append(
                f"the choices {_short(odd)} are not of type {base.name}, so no request can have "
                f"one of them; write them as {base.name}"
            )
    if not field.default_fits and not _bad_default(field):
        faults.append(
            f"the default {_shown(field)}{mismatch(field.kind, field.default)}; "
            "the function gets it as it is written, and requests are checked by the type"
        )
    return faults + _idle_bounds(field)


def _idle_bounds(field: Field) -> list[str]:
    """Return warnings about bounds that hold for no value of the field's type."""
    kind = strip(field.kind)
    if isinstance(kind, Streamed):
        kind = strip(kind.inner)
    options = kind.options if isinstance(kind, OneOf) else [kind]
    faults = []
    for names, types, what in _BOUNDS:
        given = [name for name in names if getattr(field.info, name) is not None]
        if given and not any(_may_be(option, types) for option in options):
            have, they = ("have", "them") if len(given) > 1 else ("has", "it")
            items = ", not the items of a list" if isinstance(kind, Listing) else ""
            faults.append(
                f"{', '.join(given)} {have} no effect on {kind.name}: "
                f"only {what} is checked by {they}{items}"
            )
    return faults


_BOUNDS = (
    (("ge", "le"), ("int", "float"), "a number"),
    (("min_length", "max_length", "regex"), ("str",), "a text"),
)


def _may_be(kind: Kind, types: tuple[str, ...]) -> bool:
    """Report whether a kind may be one of some JSON types."""
    if isinstance(kind, Scalar):
        return kind.name in types
    return not isinstance(kind, (Listing, Mapping, Array, Record))


def _shown(field: Field) -> str:
    """Return a default and a space; "" for a secret, which no message may contain."""
    return "" if field.kind.contains(SecretKind) else f"{_short(field.default)} "


def _not_a_choice(kind: Kind, value: Any) -> str:
    """Return why a default, or one of its items, is not one of its choices, or ""."""
    value = plain(value)
    if isinstance(kind, Nullable):
        return "" if value is None else _not_a_choice(kind.inner, value)
    if isinstance(kind, Choice):
        return mismatch(kind, value)
    if isinstance(kind, Listing) and isinstance(value, (list, tuple)):
        return _first(_not_a_choice, kind.inner, value)
    if isinstance(kind, Mapping) and isinstance(value, DICTS):
        return _first(_not_a_choice, kind.inner, value.values())
    return ""


def _first(check: Callable[[Kind, Any], str], kind: Kind, items: Iterable[Any]) -> str:
    """Return the first fault that a check finds in some items, or ""."""
    return next((text for text in (check(kind, item) for item in items) if text), "")


def _no_array(kind: Kind, value: Any) -> str:
    kind = strip(kind)
    return mismatch(kind, value) if isinstance(kind, Array) else ""


def _out_of_bounds(info: FieldInfo, value: Any) -> str:
    """Return which bound of its declaration a default breaks, or ""."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if info.ge is not None and not value >= info.ge:
            return f"is less than the minimum of {info.ge}"
        if info.le is not None and not value <= info.le:
            return f"is greater than the maximum of {info.le}"
    if isinstance(value, str):
        if info.min_length is not None and len(value) < info.min_length:
            return f"is shorter than {info.min_length} characters"
        if info.max_length is not None and len(value) > info.max_length:
            return f"is longer than {info.max_length} characters"
        if info.regex is not None:
            import re

            try:
                matches = re.search(info.regex, value) is not None
            except re.error:
                return ""  # only the front can compile it
            if not matches:
                return f'does not match "{info.regex}"'
    return ""


def mismatch(kind: Kind, value: Any) -> str:
    """Return why a value in the model's source does not fit its declared type, or "".

    >>> mismatch(Scalar("int"), "3")
    'is not of type int'
    """
    value = plain(value)
    if isinstance(kind, Nullable):
        return "" if value is None else mismatch(kind.inner, value)
    if isinstance(kind, OneOf):
        if any(not mismatch(option, value) for option in kind.options):
            return ""
        return f"is not of type {kind.name}"
    if isinstance(kind, Choice):
        # 1 and True are equal in Python and differ in JSON.
        same = (
            v for v in kind.values if v == value and isinstance(v, bool) is isinstance(value, bool)
        )
        return "" if any(True for _ in same) else f"is not one of {_short(kind.values)}"
    if isinstance(kind, Listing):
        if not isinstance(value, (list, tuple)):
            return f"is not of type {kind.name}"
        return _first(mismatch, kind.inner, value)
    if isinstance(kind, Mapping):
        if not isinstance(value, DICTS):
            return f"is not of type {kind.name}"
        return _first(mismatch, kind.inner, value.values())
    if isinstance(kind, Array):
        from ..values import ndarrays

        return ndarrays.mismatch(kind, value)
    return "" if _fits(kind, value) else f"is not of type {kind.name}"


def _fits(kind: Kind, value: Any) -> bool:
    if isinstance(kind, Scalar):
        if kind.name == "str":
            return isinstance(value, str)
        if kind.name == "bool":
            return isinstance(value, bool)
        if isinstance(value, bool):
            return False
        if kind.name == "int":
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return isinstance(value, (int, float))
    if isinstance(kind, PathKind):
        return isinstance(value, str) or hasattr(value, "__fspath__")
    if isinstance(kind, FileKind):
        return isinstance(value, str) or hasattr(value, "read")
    if isinstance(kind, SecretKind):
        return isinstance(value, str) or hasattr(value, "get_secret_value")
    if isinstance(kind, Record):
        return isinstance(value, DICTS)
    # A coder checks its own type, and Anything takes any value.
    return isinstance(kind, (Anything, Coded)) or value is not None


def _finite(value: float) -> bool:
    return value == value and abs(value) != float("inf")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"
