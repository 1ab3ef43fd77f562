"""From validated JSON to the values that the predict function declares.

It generates one function for each model, which runs in every prediction and has
a few instructions for each input that needs conversion.
"""

from __future__ import annotations

from ..errors import bad_value
from ..schema.typeforms import DICTS
from ..schema.types import (
    Array,
    Bytes,
    Choice,
    Coded,
    FileKind,
    Kind,
    Listing,
    Mapping,
    Nullable,
    PathKind,
    Record,
    Scalar,
    SecretKind,
    Streamed,
    strip,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..schema.signature import Field, Signature

    Prepare = Callable[[dict[str, Any]], dict[str, Any]]

try:
    from _px import is_list_of as _only  # in C, fast for lists of thousands of numbers
except ImportError:  # no worker

    def _only(values: object, kind: type) -> bool:
        return False  # each item is converted


_MISSING = object()
_IMMUTABLE = (str, int, float, bool, bytes, type(None))


def make_prepare(signature: Signature) -> Prepare | None:
    """Return the function that prepares inputs for a call, None if there is nothing to do.

    It changes its dict and returns it. An absent input gets its default, or None
    if it has no default and the type allows None.
    """
    writer = _Writer()
    lines: list[str] = []
    for field in signature.inputs:
        lines += _field_lines(writer, field)
    for field in signature.inputs:
        if field.parameter != field.name:
            key, parameter = repr(field.name), repr(field.parameter)
            lines.append(f"if {key} in d: d[{parameter}] = d.pop({key})")
    if not lines:
        return None
    writer.names["_explain"] = _explainer(signature)
    body = "\n".join("        " + line for line in lines)
    source = (
        "def prepare(d):\n    try:\n"
        f"{body}\n"
        "    except (OverflowError, TypeError, ValueError, OSError) as exc:\n"
        "        raise _explain(d, exc)\n"
        "    return d\n"
    )
    exec(compile(source, "<cog prepare>", "exec"), writer.names)  # noqa: S102, see above
    prepare: Prepare = writer.names["prepare"]
    return prepare


class _Writer:
    """Writes expressions that convert values, and stores the objects that they use."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"_MISSING": _MISSING, "_fresh": fresh, "_only": _only}
        self._depth = 0

    def refer(self, value: object) -> str:
        """Return a name for a value in the generated code."""
        name = f"_{len(self.names)}"
        self.names[name] = value
        return name

    def convert(self, kind: Kind, var: str) -> str:
        """Return the expression that converts var, "" if it needs none."""
        name = kind.name
        if isinstance(kind, Choice):
            if kind.enum is not None:
                return f"{self.refer(kind.enum)}({var})"
            name = kind.base or ""
        if isinstance(kind, (Scalar, Choice)):
            if name == "float":
                return f"(float({var}) if type({var}) is int else {var})"
            if name == "int":
                return f"(int({var}) if type({var}) is float and {var}.is_integer() else {var})"
            return ""
        if isinstance(kind, PathKind):
            return f"{self.refer(kind.type)}({var})"
        if isinstance(kind, FileKind):
            return f'open({var}, "rb")'
        if isinstance(kind, SecretKind):
            return f"{self.refer(_as_secret)}({var})"
        if isinstance(kind, Coded):
            return f"{self.refer(kind.coder)}.decode({var})"
        if isinstance(kind, Array):
            from . import ndarrays

            return f"{self.refer(ndarrays.converter(kind))}({var})"
        if isinstance(kind, Bytes):
            from . import streams

            return f"{self.refer(streams.decoded)}({var})"
        if isinstance(kind, Streamed):
            from . import streams

            items = self._convert_items(kind, var) or var
            iterate = self.refer(streams.opener(kind, converter(kind.inner)))
            return f"{iterate}({items} if type({var}) is list else {var})"
        if isinstance(kind, Nullable):
            inner = self.convert(kind.inner, var)
            return f"(None if {var} is None else {inner})" if inner else ""
        if isinstance(kind, Record):
            steps = [(m.name, converter(m.kind)) for m in kind.members]
            needed = [(name, step) for name, step in steps if step is not None]
            return f"{self.refer(_record_converter(needed))}({var})" if needed else ""
        return self._convert_items(kind, var)

    def _convert_items(self, kind: Kind, var: str) -> str:
        self._depth += 1
        item = f"x{self._depth}"
        try:
            if isinstance(kind, Listing):
                inner = self.convert(kind.inner, item)
                items = f"[{inner} for {item} in {var}]"
                if isinstance(kind.inner, Scalar) and inner:  # usually nothing needs conversion
                    return f"({var} if _only({var}, {kind.inner.name}) else {items})"
                return items if inner else ""
            if isinstance(kind, Mapping):
                inner = self.convert(kind.inner, item)
                key = f"k{self._depth}"
                return f"{{{key}: {inner} for {key}, {item} in {var}.items()}}" if inner else ""
            return ""  # a union keeps the JSON type
        finally:
            self._depth -= 1


def _field_lines(writer: _Writer, field: Field) -> list[str]:
    """Return the statements for one input."""
    key = repr(field.name)
    kind = field.kind
    nullable = isinstance(kind, Nullable)
    inner = strip(kind)
    expression = writer.convert(inner, "v")
    default = _default_expression(writer, field)
    if not expression:
        return [f"if {key} not in d: d[{key}] = {default}"] if default else []
    lines = [f"v = d.get({key}, _MISSING)"]
    if default:
        lines.append(f"if v is _MISSING: d[{key}] = {default}")
    branch = "elif" if default else "if"
    base = inner.base if isinstance(inner, Choice) and inner.enum is None else inner.name
    if isinstance(inner, (Scalar, Choice)) and base == "float":
        lines.append(f"{branch} type(v) is int: d[{key}] = float(v)")
    elif isinstance(inner, (Scalar, Choice)) and base == "int":
        lines.append(f"{branch} type(v) is float and v.is_integer(): d[{key}] = int(v)")
    else:
        test = "v is not None" if nullable else ""
        if not default:
            test = f"v is not _MISSING and {test}" if test else "v is not _MISSING"
        head = f"{branch} {test}" if test else "else"
        lines.append(f"{head}: d[{key}] = {expression}")
    return lines


def _default_expression(writer: _Writer, field: Field) -> str:
    """Return the value of an absent input; "" if the call fills it in or fails."""
    if field.required:
        # A document of an older image may allow that an input with Input(default=None) is absent.
        # The function gets None then.
        return "None" if field.info.has_default and not field.native else ""
    if field.default is None:
        return "" if field.native else "None"
    if field.default_fits and isinstance(strip(field.kind), FileKind):
        # A new file object each time: the last prediction may have closed it.
        return f"{writer.refer(_opener(field.default))}()"
    path = strip(field.kind)
    if field.default_fits and isinstance(path, PathKind) and _is_url(field.default):
        return f"{writer.refer(_fetcher(path, field.default, field.name))}()"
    value = default_of(field)
    if _is_frozen(value):
        return "" if field.native and value is field.default else writer.refer(value)
    if type(value) is list and value == []:
        return "[]"
    if type(value) is dict and value == {}:
        return "{}"
    return f"_fresh({writer.refer(value)})"


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://", "data:"))


def _opener(value: Any) -> Callable[[], Any]:
    def open_default() -> Any:
        from ..._file import File

        return File.validate(value)

    return open_default


def _fetcher(kind: PathKind, url: str, name: str) -> Callable[[], Any]:
    """Return a function that fetches the file of a default at its first use."""
    fetched: list[Any] = []

    def fetch() -> Any:
        if not fetched or not fetched[0].exists():
            from ..._path import Path

            path: Any = Path.validate(url)
            try:
                fetched[:] = [path.convert()]
            except OSError as exc:
                reason = getattr(exc, "reason", exc)
                raise bad_value(f'cannot fetch {url} for input "{name}": {reason}') from None
        return kind.type(fetched[0])

    return fetch


def default_of(field: Field) -> Any:
    """Return the default of an input as the function gets it, None without one."""
    if not field.has_default or not field.default_fits:
        return field.default
    return ready_default(field.kind, field.default)


def ready_default(kind: Kind, value: Any) -> Any:
    """Return a default of the model as the function gets it."""
    if isinstance(kind, Nullable):
        return None if value is None else ready_default(kind.inner, value)
    if isinstance(kind, PathKind) and isinstance(value, kind.type):
        return value
    if isinstance(kind, Choice) and kind.enum is not None and isinstance(value, kind.enum):
        return value
    if isinstance(kind, Coded) and not isinstance(value, dict):
        return value
    if isinstance(kind, Listing):
        return [ready_default(kind.inner, item) for item in value]
    if isinstance(kind, Mapping) and isinstance(value, DICTS):
        return {key: ready_default(kind.inner, item) for key, item in value.items()}
    convert = converter(kind)
    return value if convert is None else convert(value)


def converter(kind: Kind) -> Callable[[Any], Any] | None:
    """Return a function that converts one value, None if it needs none."""
    writer = _Writer()
    expression = writer.convert(kind, "v")
    if not expression:
        return None
    convert: Callable[[Any], Any] = eval(  # noqa: S307, written above
        compile(f"lambda v: {expression}", "<cog prepare>", "eval"), writer.names
    )
    return convert


def _record_converter(steps: list[tuple[str, Callable[[Any], Any]]]) -> Callable[[Any], Any]:
    def convert(value: dict[str, Any]) -> dict[str, Any]:
        result = dict(value)
        for name, step in steps:
            if name in result:
                result[name] = step(result[name])
        return result

    return convert


def _as_secret(value: Any) -> Any:
    from ..._secret import Secret

    return value if hasattr(value, "get_secret_value") else Secret(value)


def fresh(value: Any) -> Any:
    """Return a copy of a default that the model may change.

    >>> default = {"a": [1]}
    >>> copy = fresh(default)
    >>> copy["a"].append(2)
    >>> default
    {'a': [1]}
    """
    if type(value) is list:
        return [fresh(item) for item in value]
    if type(value) is dict:
        return {key: fresh(item) for key, item in value.items()}
    if _is_frozen(value):
        return value
    import copy

    return copy.deepcopy(value)


def _is_frozen(value: Any) -> bool:
    """Return whether predictions can share a value."""
    return (
        isinstance(value, _IMMUTABLE)
        or hasattr(value, "__fspath__")
        or hasattr(value, "get_secret_value")
        or hasattr(type(value), "__members__")  # an Enum
    )


def _innermost(kind: Kind) -> Kind:
    while kind.children():
        kind = kind.children()[0]
    return kind


def _explainer(signature: Signature) -> Callable[[dict[str, Any], Exception], Exception]:
    """Return a function that finds the input that caused an error."""

    def explain(values: dict[str, Any], exc: Exception) -> Exception:
        if type(exc).__name__ == "ArrayError":
            return _array_error(signature, values) or exc
        for field in signature.inputs:
            convert = converter(field.kind)
            if convert is None or values.get(field.name) is None:
                continue
            if not isinstance(_innermost(field.kind), Scalar):
                continue
            try:
                convert(values[field.name])
            except OverflowError:
                return bad_value(f'input "{field.name}" is too large for a float')
        return exc

    return explain


def _array_error(signature: Signature, values: dict[str, Any]) -> Exception | None:
    from . import ndarrays

    for field in signature.inputs:
        text = ndarrays.fault(field.kind, values[field.name]) if field.name in values else ""
        if text:
            return bad_value(f'input "{field.name}": {text}')
    return None
