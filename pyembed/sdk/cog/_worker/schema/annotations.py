"""From annotations to kinds."""

from __future__ import annotations

import sys

from ...input import FieldInfo
from .typeforms import (
    SEQUENCES,
    Names,
    arguments,
    enum_of,
    is_form,
    is_opaque,
    origin_of,
    plain,
    qualified,
    show,
    union_args,
)
from .types import (
    Anything,
    Array,
    ArrayOutput,
    AsyncStreamed,
    Bytes,
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
    Stream,
    Streamed,
    Text,
    Unsupported,
    Untyped,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCALARS: dict[object, str] = {str: "str", int: "int", float: "float", bool: "bool"}
_DEPTH = 50

# Origins by qualified name, as SEQUENCES.
_COLLECTIONS = {
    "tuple",
    "set",
    "frozenset",
    "collections.abc.Set",
    "collections.abc.MutableSet",
    "collections.abc.Collection",
    "collections.deque",
}
_MAPPINGS = {
    "dict",
    "collections.abc.Mapping",
    "collections.abc.MutableMapping",
    "collections.OrderedDict",
    "collections.defaultdict",
}
_READ_ONLY_MAPPINGS = {"frozendict", "mappingproxy"}  # of the builtins
_STREAMS = {
    "collections.abc.Iterator",
    "collections.abc.Iterable",
    "collections.abc.Generator",
    "collections.abc.AsyncIterator",
    "collections.abc.AsyncIterable",
    "collections.abc.AsyncGenerator",
}
_STREAMED = {
    "collections.abc.Iterator": Streamed,
    "collections.abc.Iterable": Streamed,
    "collections.abc.AsyncIterator": AsyncStreamed,
    "collections.abc.AsyncIterable": AsyncStreamed,
}
_CONCATENATING = {"cog.types.ConcatenateIterator", "cog.types.AsyncConcatenateIterator"}
_TEXTS = {
    "datetime.datetime": "date-time",
    "datetime.date": "date",
    "datetime.time": "time",
    "uuid.UUID": "uuid",
    "decimal.Decimal": "decimal",
}
# Beginnings of the names of numpy's scalars, and of those that ml_dtypes adds.
_NUMPY = {
    **dict.fromkeys(("int", "uint", "longlong", "ulonglong"), "int"),
    **dict.fromkeys(("float", "bfloat", "longdouble"), "float"),
    "bool": "bool",
}
# NDArray is a class only when the source is read without an import.
_NDARRAYS = {"numpy.ndarray", "numpy.typing.NDArray"}
_ARRAYS = _NDARRAYS | {"torch.Tensor", "jax.Array", "jaxlib.xla_extension.ArrayImpl"}


class Reader:
    """Turns the annotations of one function into kinds.

    Inputs have types that JSON converts to. Outputs may also have types that
    convert to JSON.
    """

    def __init__(self, names: Names, is_input: bool) -> None:
        self.names = names
        self.is_input = is_input
        self._open: list[object] = []
        self._inputs: list[FieldInfo] = []  # at any depth

    def read(self, annotation: object) -> Kind:
        """Return the kind of an annotation, or raise Unsupported."""
        annotation = self.resolve(annotation, self._inputs)
        if len(self._open) > _DEPTH:
            raise Unsupported("the type is nested too deep")
        self._open.append(annotation)
        try:
            return self._read(annotation)
        finally:
            self._open.pop()

    def inputs_in(self, annotation: object) -> list[FieldInfo]:
        """Return each Input() in Annotated[...] that applies to the parameter itself."""
        inputs: list[FieldInfo] = []
        for _ in range(_DEPTH):
            annotation = self.resolve(annotation, inputs)
            if is_opaque(annotation):
                inputs += _inputs_of(annotation)
                return inputs
            options = [arg for arg in union_args(annotation) if arg is not type(None)]
            if len(options) != 1:
                return inputs
            annotation = options[0]
        return inputs

    def has_unused_inputs(self, used: list[FieldInfo]) -> bool:
        """Return whether the annotations contain an Input() that is not in used."""
        return any(all(info is not other for other in used) for info in self._inputs)

    def resolve(self, annotation: Any, inputs: list[FieldInfo] | None = None) -> Any:
        """Return an annotation without quotes, aliases, Annotated; add each Input() to inputs."""
        for _ in range(_DEPTH):
            if isinstance(annotation, str):
                annotation = self.names.evaluate(annotation)
            elif type(annotation).__name__ == "ForwardRef":
                annotation = self.names.evaluate(annotation.__forward_arg__)
            elif hasattr(annotation, "__metadata__") and not is_opaque(annotation):
                if inputs is not None:
                    inputs += _inputs_of(annotation)
                annotation = annotation.__origin__
            elif hasattr(annotation, "__supertype__"):  # NewType
                annotation = annotation.__supertype__
            elif type(annotation).__name__ == "TypeAliasType":  # type X = ...
                annotation = annotation.__value__
            elif type(origin_of(annotation)).__name__ == "TypeAliasType":
                annotation = annotation.__origin__.__value__[annotation.__args__]  # X[...]
            else:
                return annotation
        raise Unsupported(f"{show(annotation)} refers to itself")

    def _read(self, annotation: object) -> Kind:
        name = _SCALARS.get(annotation) if isinstance(annotation, type) else None
        if name:
            return Scalar(name)
        if annotation is None or annotation is type(None):
            return self._none()
        if union_args(annotation):
            return self._union(annotation)
        special = self._typing_form(annotation)
        if special is not None:
            return special
        return self._class(annotation)

    def _none(self) -> Kind:
        if self.is_input:
            raise Unsupported("None alone cannot be an input; use Optional[...]")
        return Untyped("None")

    def _typing_form(self, annotation: object) -> Kind | None:
        """Read a form of the typing module; return None for other annotations."""
        # If typing is not imported, the annotation is not from there.
        typing = sys.modules.get("typing")
        if typing is None:
            return None
        origin = origin_of(annotation)
        if annotation is typing.Any:
            return Anything(show(annotation))
        if is_opaque(annotation):
            from .opaque import read_opaque

            return read_opaque(self, annotation)
        if is_form(origin, "Literal"):
            return self._literal(annotation)
        if isinstance(annotation, typing.TypeVar):
            raise Unsupported(f"the type variable {annotation} has no concrete type")
        return None

    def _union(self, annotation: Any) -> Kind:
        name = show(annotation)
        args = annotation.__args__
        item = self._item if not self.is_input and len(self._open) > 1 else self.read
        options = [item(arg) for arg in args if arg is not type(None)]
        nullable = len(options) < len(args)
        # Optional[Literal["a", None]] allows null twice; one is enough.
        for position, option in enumerate(options):
            if isinstance(option, Nullable):
                options[position], nullable = option.inner, True
        if len(options) == 1:
            return Nullable(name, options[0]) if nullable else options[0]
        if self.is_input:
            for option in options:
                self._refuse_in_union(option, name)
        union = OneOf(name, options)
        return Nullable(name, union) if nullable else union

    def _refuse_in_union(self, option: Kind, name: str) -> None:
        for kind in option.walk():
            if isinstance(kind, (PathKind, FileKind, SecretKind, Record, Coded, Array)):
                raise Unsupported(
                    f"{name} is a union with {kind.name}, and a JSON value does not say "
                    "which of them it is; use one of the types alone"
                )

    def _literal(self, annotation: Any) -> Kind:
        values: list[Any] = []
        for value in annotation.__args__:
            bare = plain(value)
            if not isinstance(bare, (str, int, float, bool, type(None))):
                raise Unsupported(
                    f"{show(annotation)} must hold JSON values, not {type(value).__name__}"
                )
            values.append(bare)
        allowed = [value for value in values if value is not None]
        if not allowed:
            raise Unsupported(f"{show(annotation)} allows only None")
        choice = Choice(show(annotation), allowed, enum_of(annotation.__args__))
        return Nullable(choice.name, choice) if len(allowed) < len(values) else choice

    def _class(self, annotation: object) -> Kind:
        origin = origin_of(annotation) or annotation
        args = tuple(arg for arg in arguments(annotation) if type(arg).__name__ != "TypeVar")
        if not isinstance(origin, type):
            raise Unsupported(f"{show(annotation)} is not a supported type")
        name = qualified(origin)
        if name in SEQUENCES:
            return Listing(show(annotation), self.read(args[0]) if args else Anything("Any"))
        if name in _MAPPINGS or (name in _READ_ONLY_MAPPINGS and not self.is_input):
            return self._mapping(annotation, args)
        if name in _CONCATENATING:
            return self._stream(annotation, args or (str,), concatenate=True)
        if name in _STREAMS:
            return self._stream(annotation, args, concatenate=False)
        if origin is object:
            return Anything("object")
        if name in _NDARRAYS:
            from . import records

            if records.coder_of(origin) is None:
                return self._array(annotation)
        file = self._file(origin, annotation)
        if file is not None:
            return file
        if name in _COLLECTIONS:
            return self._collection(annotation, args)
        return self._model_type(origin, annotation)

    def _array(self, annotation: object) -> Kind:
        from ..values import ndarrays

        if self.is_input:
            return ndarrays.read_kind(annotation, self.resolve)
        try:
            return ArrayOutput(show(annotation), ndarrays.read_kind(annotation, self.resolve).dtype)
        except Unsupported:  # an output may be an array of anything
            return ArrayOutput(show(annotation), "")

    def _mapping(self, annotation: object, args: tuple[object, ...]) -> Kind:
        if not args:
            return Anything("dict")
        key = self.read(args[0])
        if self.is_input and not (
            isinstance(key, (Anything, Choice)) or (isinstance(key, Scalar) and key.name == "str")
        ):
            raise Unsupported(f"{show(annotation)}: its keys must be str, as in JSON")
        return Mapping(show(annotation), self.read(args[1]) if len(args) > 1 else Anything("Any"))

    def _stream(self, annotation: object, args: tuple[object, ...], concatenate: bool) -> Kind:
        if self.is_input:
            return self._streamed(annotation, args)
        if len(self._open) > 1:
            raise Unsupported(f"{show(annotation)}: an iterator can only be the whole output")
        read = self.read if concatenate else self._item
        item = read(args[0]) if args else Anything("Any")
        if isinstance(item, Untyped):
            raise Unsupported(f"{show(annotation)}: an iterator of None yields nothing to send")
        name = getattr(origin_of(annotation) or annotation, "__name__", "")
        return Stream(show(annotation), item, concatenate, name.startswith("Async"))

    def _streamed(self, annotation: object, args: tuple[object, ...]) -> Kind:
        name = show(annotation)
        cls: Any = origin_of(annotation) or annotation
        kind = _STREAMED.get(qualified(cls))
        if kind is None or len(self._open) > 1:
            raise Unsupported(
                f"{name}: an iterator can only be the whole input; for a streamed input write "
                "Iterator[...], in an async function AsyncIterator[...]"
            )
        if not args:
            raise Unsupported(f"{name} has no type of its items; write Iterator[str] or similar")
        return kind(name, self._item(args[0]))

    def _item(self, annotation: object) -> Kind:
        """Read the annotation of an iterator's items, which may be bytes."""
        return Bytes("bytes") if self.resolve(annotation) is bytes else self.read(annotation)

    def _collection(self, annotation: object, args: tuple[object, ...]) -> Kind:
        name = show(annotation)
        if self.is_input:
            raise Unsupported(f"{name} cannot be an input; use list[...]")
        kinds = [self.read(arg) for arg in args if arg is not Ellipsis]
        names = {kind.name for kind in kinds}
        if not kinds:
            return Listing(name, Anything("Any"))
        return Listing(name, kinds[0] if len(names) == 1 else OneOf(name, kinds))

    def _file(self, origin: type, annotation: object) -> Kind | None:
        name = qualified(origin)
        if name == "cog.types.Secret":
            return SecretKind("Secret")
        if hasattr(origin, "__fspath__"):
            if name in ("os.PathLike", "cog.types.URLPath"):
                import cog

                return PathKind(show(annotation), cog.Path)
            return PathKind(show(annotation), origin)
        io = sys.modules["io"]  # always loaded: the interpreter imports it at its start
        if issubclass(origin, io.IOBase) or name in ("typing.IO", "typing.BinaryIO"):
            return FileKind(show(annotation))
        return None

    def _model_type(self, origin: type, annotation: object) -> Kind:
        from . import records

        name = qualified(origin)
        coder = records.coder_of(origin)
        if coder is not None:
            return Coded(show(annotation), coder)
        enum = sys.modules.get("enum")
        if enum is not None and issubclass(origin, enum.Enum):
            return self._enum(origin)
        simple = None if self.is_input else _output_class(origin, name, show(annotation))
        if simple is not None:
            return simple
        if self._open.count(annotation) > 1:
            return Anything(show(annotation))  # a model that contains itself
        record = records.read_record(self, origin)
        if record is None:
            raise Unsupported(_unsupported(annotation, name, self.is_input))
        if self.is_input and not record.is_dict:
            raise Unsupported(
                f"{record.name} is an output type; take its members as inputs, "
                "or a dict, or register a cog.coder.Coder for it"
            )
        return record

    def _enum(self, origin: Any) -> Kind:
        values = [plain(member) for member in origin]
        if not values or not all(isinstance(value, (str, int, float)) for value in values):
            raise Unsupported(f"{origin.__name__} has members that are not str, int, float or bool")
        return Choice(origin.__name__, values, origin)


def _output_class(cls: type, name: str, shown: str) -> Kind | None:
    """Return the kind of a class whose values convert to a JSON type."""
    if name in _TEXTS:
        return Text(shown, _TEXTS[name])
    if name in _ARRAYS:
        return ArrayOutput(shown, "")
    for scalar in (bool, int, float, str):
        if issubclass(cls, scalar):
            return Scalar(scalar.__name__)
    if name.startswith(("numpy.", "ml_dtypes.")):
        for prefix, scalar_name in _NUMPY.items():
            if cls.__name__.startswith(prefix):
                return Scalar(scalar_name)
    if name.startswith("pydantic") and name.endswith("Url"):
        return Text(shown, "uri")
    if hasattr(cls, "get_secret_value"):
        return SecretKind(shown)
    if issubclass(cls, (list, tuple, set, frozenset)):
        return Listing(shown, Anything("Any"))
    if issubclass(cls, dict) and not hasattr(cls, "__required_keys__"):
        return Anything(shown)
    return None


def _inputs_of(annotation: Any) -> list[FieldInfo]:
    return [mark for mark in annotation.__metadata__ if type(mark) is FieldInfo]


def _unsupported(annotation: object, name: str, is_input: bool) -> str:
    text = show(annotation)
    if name in ("bytes", "bytearray", "memoryview"):
        return f"{text} is not supported; use cog.Path for binary data"
    if is_input:
        return (
            f"{text} is not supported; use str, int, float, bool, cog.Path, cog.Secret, "
            "a list, a dict, Optional or Literal of these, or numpy.ndarray"
        )
    return (
        f"{text} is not supported as an output; return JSON types, cog.Path, a subclass of "
        "cog.BaseModel, or annotate it as Any"
    )
