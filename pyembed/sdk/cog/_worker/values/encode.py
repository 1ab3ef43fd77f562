"""From a model's output to JSON data."""

from __future__ import annotations

import sys

from ...errors import OutputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Store = Callable[[Any], str]

_DEPTH = 500  # the limit of the serialiser in C
_STEPS = 100  # conversions of one value; real values need a few
_PLAIN = frozenset({str, int, bool, type(None)})
_HUGE = 1.7976931348623157e308  # the largest double
_UNKNOWN = object()
_BYTES = (bytes, bytearray, memoryview)
GENERATOR = type(_ for _ in ())
_TEXTS = {"datetime": ("datetime", "date", "time"), "uuid": ("UUID",), "decimal": ("Decimal",)}


def encode(value: Any, place: str = "output", store: Store | None = None) -> Any:
    """Return value as JSON data: dict, list, str, int, float, bool and None only.

    Raises OutputError for values that JSON cannot hold; the message names the
    place in the output, starting with place. store, if given, gets each file (a
    path or a file object) and returns its URL; without it files become
    ``data:`` URLs with their content.

    >>> encode({"sizes": (1, 2)})
    {'sizes': [1, 2]}
    """
    try:
        return _encode(value, 0, store)
    except Refused as refused:
        raise OutputError(place + refused.place() + refused.text) from refused.__cause__
    except RecursionError as exc:
        raise OutputError(f"{place} is nested too deeply") from exc


def allow_bytes() -> None:
    """Write bytes as base64 from now on: the model says that it yields them."""
    global _yields_bytes
    _yields_bytes = True


_yields_bytes = False


class Refused(Exception):
    """A value that cannot be encoded. The path to it is collected while this propagates."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.steps: list[str] = []

    def at(self, step: str) -> Refused:
        """Note that the value lies below this step."""
        self.steps.append(step)
        return self

    def place(self) -> str:
        """Return the path to the value, for example ``.items[3]``."""
        return "".join(reversed(self.steps))


class Finished:
    """Wraps a value that is JSON data at every depth."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _encode(value: Any, depth: int, store: Store | None) -> Any:
    """Encode one value. It uses one stack frame for each level of nesting."""
    kind = type(value)
    steps = 0
    while kind not in _PLAIN:
        if kind is float:
            if -_HUGE <= value <= _HUGE:
                return value
            raise Refused(f" is {value}, which JSON cannot hold")
        if depth > _DEPTH:
            raise Refused(f" is nested deeper than {_DEPTH} levels; does it contain itself?")
        if kind is dict:
            return _encode_dict(value, depth, store)
        if kind is list:
            return _encode_list(value, depth, store)
        if steps == _STEPS:
            name = kind.__qualname__
            raise Refused(f" never becomes JSON data: its conversions, last to {name}, do not end")
        value = _simplify(value, store)
        kind = type(value)
        if kind is Finished:
            return value.value
        steps += 1
    return value


def _encode_dict(value: dict[Any, Any], depth: int, store: Store | None) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else _key(key)
        if type(item) not in _PLAIN:
            try:
                item = _encode(item, depth + 1, store)
            except Refused as refused:
                raise refused.at(_step(name)) from refused.__cause__
        result[name] = item
    return result


def _encode_list(value: list[Any], depth: int, store: Store | None) -> list[Any]:
    result: list[Any] = []
    for item in value:
        if type(item) not in _PLAIN:
            try:
                item = _encode(item, depth + 1, store)
            except Refused as refused:
                raise refused.at(f"[{len(result)}]") from refused.__cause__
        result.append(item)
    return result


def _simplify(value: Any, store: Store | None) -> Any:
    """Return value one conversion closer to JSON, or raise Refused."""
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (str, int, float)):
        return _base(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple, set, frozenset, range, GENERATOR)):
        return list(value)
    if _yields_bytes and isinstance(value, _BYTES):
        from binascii import b2a_base64

        return b2a_base64(value, newline=False).decode()
    if isinstance(value, type):
        raise Refused(f" is the class {value.__qualname__}, not a value")
    if callable(getattr(value, "get_secret_value", None)):
        from ..._secret import MASK

        return MASK
    if hasattr(value, "__fspath__") or callable(getattr(value, "read", None)):
        return _file(value, store)
    for step in (_text, _members, _array, _coded, _dumped, _collection):
        simple = step(value)
        if simple is not _UNKNOWN:
            return simple
    raise Refused(_refusal(value))


def _base(value: Any) -> Any:
    """Return a value of a subclass of str, int or float as a value of that class."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value)


def _file(value: Any, store: Store | None) -> str:
    from . import outfile

    try:
        return outfile.data_url(value) if store is None else store(value)
    except outfile.FileProblem as exc:
        raise Refused(f": {exc}") from exc.__cause__


def _text(value: Any) -> Any:
    """Return dates and times in ISO 8601; a UUID, a Decimal, a URL of pydantic as a str."""
    if type(value).__module__.startswith("pydantic") and type(value).__name__.endswith("Url"):
        return str(value)
    for module, names in _TEXTS.items():
        loaded = sys.modules.get(module)
        if loaded is None:
            continue
        kinds: Any = tuple(getattr(loaded, name) for name in names)
        if isinstance(value, kinds):
            return value.isoformat() if module == "datetime" else str(value)
    return _UNKNOWN


def _members(value: Any) -> Any:
    """Return the members of a pydantic model, a dataclass or a BaseModel as a dict."""
    kind = type(value)
    if hasattr(kind, "model_fields") and callable(getattr(value, "model_dump", None)):
        return value.model_dump()
    if isinstance(getattr(kind, "__fields__", None), dict) and hasattr(kind, "__validators__"):
        members = value.dict()  # pydantic 1
        return members["__root__"] if set(members) == {"__root__"} else members
    if hasattr(kind, "__dataclass_fields__") and _dump(kind) is None:
        import dataclasses

        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    model = sys.modules.get("cog.model")
    if model is not None and isinstance(value, model.BaseModel):
        return {name: item for name, item in vars(value).items() if not name.startswith("_")}
    return _UNKNOWN


def members(value: Any) -> dict[str, Any] | None:
    """Return the members of an object of a model's class, or None for any other value."""
    members = _members(value)
    return members if type(members) is dict else None


def _array(value: Any) -> Any:
    """Return the numbers of an array or tensor as lists, or that of a scalar."""
    if not (hasattr(value, "dtype") and hasattr(value, "tolist")):
        return _UNKNOWN
    from . import arrays

    try:
        content, is_plain = arrays.plain(value)
    except arrays.NotPlain as problem:
        raise Refused(str(problem)) from None
    return Finished(content) if is_plain else content


def _coded(value: Any) -> Any:
    registry = sys.modules.get("cog.coder")
    coder = registry.Coder.lookup(type(value)) if registry is not None else None
    return _UNKNOWN if coder is None else coder.encode(value)


def _dump(kind: type) -> str | None:
    """Return the name of a class's method that returns its members, as in pydantic's models.

    It is looked up on the class, because some objects have every attribute.
    """
    for name in ("model_dump", "dict"):
        if callable(getattr(kind, name, None)):
            return name
    return None


def _dumped(value: Any) -> Any:
    """Return the members of an object that is like a pydantic model, as coglet does."""
    name = _dump(type(value))
    return _UNKNOWN if name is None else getattr(value, name)()


def _collection(value: Any) -> Any:
    """Return mappings as dicts; deques, sets and views as lists."""
    from _collections_abc import Mapping, MutableSequence, Set, ValuesView

    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Set, ValuesView)):
        return list(value)
    if isinstance(value, MutableSequence) and not isinstance(value, bytearray):
        return list(value)
    return _UNKNOWN


def _refusal(value: Any) -> str:
    """Return why a value cannot be encoded, and what to return instead."""
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    text = f" is of type {name}, which JSON cannot hold"
    if isinstance(value, _BYTES):
        return text + "; write it to a file and return its cog.Path"
    if hasattr(value, "save") and hasattr(value, "getbands"):
        return text + "; save the image to a file and return its cog.Path"
    if hasattr(value, "to_dict"):
        return text + "; return its to_dict() or write it to a file"
    if hasattr(value, "__next__") or hasattr(value, "__anext__"):
        return text + "; make a list of it, or yield its items as the whole output"
    if hasattr(value, "__await__"):
        return text + "; await it"
    return text


def _key(key: Any) -> str:
    """Return the key of a dict as in JSON."""
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(key, enum.Enum):
        key = key.value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(key, numpy.generic):
        simple = _array(key)
        key = simple.value if type(simple) is Finished else simple
    if isinstance(key, str):
        return str.__str__(key)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return int.__repr__(key)
    if isinstance(key, float) and -_HUGE <= key <= _HUGE:
        return float.__repr__(key)
    text = _text(key)
    if text is not _UNKNOWN:
        return str(text)
    raise Refused(
        f" has the key {_short(key)} of type {type(key).__name__}; the keys must be str, as in JSON"
    )


def _step(name: str) -> str:
    return "." + name if name.isidentifier() else f"[{_short(name)}]"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "…"
