"""Values that are unknown without an import of the model.

An `Unknown` may be passed on, stored, called and asked for attributes, which gives further unknown
values. Code that needs its value ends the statement with a `Refusal`. So a module can be evaluated
without torch, and a signature is either known exactly or refused with the reason.
"""

from __future__ import annotations

import sys

from ..schema.typeforms import arguments, is_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Refusal(BaseException):
    """A value is unknown; file, line and expression say where, reason why.

    It is not an Exception, so that code that catches the model's errors does not catch it.
    """

    def __init__(
        self,
        reason: str,
        expression: str = "",
        file: str = "",
        line: int = 0,
        made_at: tuple[str, int] = ("", 0),
    ) -> None:
        super().__init__(reason)
        self.made_at = made_at
        self.reason = reason
        self.expression = expression
        self.file = file
        self.line = line

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        where = f"{self.file}{line}: " if self.file else ""
        what = f"{self.expression}: " if self.expression else ""
        return f"{where}{what}{self.reason}"


# Foreign decorators that do not change the signature.
_TRANSPARENT = frozenset(
    {
        "torch.autocast(…)",
        "torch.compile",
        "torch.compile(…)",
        "torch.cuda.amp.autocast(…)",
        "torch.enable_grad(…)",
        "torch.inference_mode",
        "torch.inference_mode(…)",
        "torch.no_grad",
        "torch.no_grad(…)",
    }
)


_ALIAS: Any = type(list[int])


class _StandInType(type):
    """The type of a class of which only the name is known."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        return Unknown(f"{cls.__module__}.{cls.__name__}(…)", _not_run(cls.__module__))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown(f"{cls.__module__}.{cls.__name__}.{name}", _not_run(cls.__module__))

    def __getitem__(cls, key: Any) -> Any:
        if cls.__name__ == "NDArray":
            return STAND_INS["numpy.ndarray"][object, STAND_INS["numpy.dtype"][key]]
        return _ALIAS(cls, key)


_NUMPY_ALIASES = {
    "bool": "bool_",
    "half": "float16",
    "single": "float32",
    "double": "float64",
    "byte": "int8",
    "ubyte": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "intc": "int32",
    "uintc": "uint32",
    "int_": "int64",
    "uint": "uint64",
    "intp": "int64",
    "uintp": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
}


def _stand_ins() -> dict[str, Any]:
    """Return classes for names in annotations that need no library."""
    arrays: dict[str, tuple[type, ...]] = {"numpy.ndarray": (), "torch.Tensor": (), "jax.Array": ()}
    scalars = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32"
    scalars += " generic number integer signedinteger unsignedinteger inexact floating"
    arrays.update({f"numpy.{name}": () for name in scalars.split()})
    arrays["numpy.dtype"] = arrays["numpy.typing.NDArray"] = ()
    arrays["numpy.float64"] = (float,)
    made = {}
    for path, bases in arrays.items():
        module, _, name = path.rpartition(".")
        made[path] = _StandInType(name, bases, {"__module__": module})
    made.update({f"numpy.{name}": made[f"numpy.{other}"] for name, other in _NUMPY_ALIASES.items()})
    return made


STAND_INS = _stand_ins()


_TYPING = ("typing", "typing_extensions")
# Functions of these modules that build a type, besides private ones. The others inspect a type.
_BUILDERS = frozenset({"Annotated", "Optional", "Union", "copy_with", "inner"})


def _is_for_a_type() -> bool:
    """Return whether the caller's caller builds or prints a type, which needs no known parts."""
    frame: Any = sys._getframe(2)
    if frame.f_globals.get("__name__") == arguments.__module__:
        return True
    name = ""
    while frame is not None and frame.f_globals.get("__name__") in _TYPING:
        name, frame = frame.f_code.co_name, frame.f_back
    return name.startswith("_") or name in _BUILDERS


def _not_run(root: str) -> str:
    return f"{root} is not imported when the source is only read"


class Unknown:
    """An unknown value: its name, why it is unknown, where it was made."""

    __slots__ = ("_static_at", "_static_path", "_static_why")

    def __init__(self, path: str, why: str, at: tuple[str, int] = ("", 0)) -> None:
        object.__setattr__(self, "_static_path", path)
        object.__setattr__(self, "_static_why", why)
        object.__setattr__(self, "_static_at", at)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            if not _is_for_a_type():
                refuse(self)
            if name != "__name__":
                raise AttributeError(name)
            return self._static_path.rpartition(".")[2]
        path = f"{self._static_path}.{name}"
        return STAND_INS.get(path) or Unknown(path, self._static_why)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        decorates = len(args) == 1 and type(args[0]).__name__ == "function"
        if decorates and self._static_path in _TRANSPARENT:
            return args[0]
        caller = sys._getframe(1)
        at = caller.f_code.co_filename, caller.f_lineno
        return Unknown(f"{self._static_path}(…)", self._static_why, at)

    def __getitem__(self, key: object) -> Unknown:
        return Unknown(f"{self._static_path}[…]", self._static_why)

    def __setattr__(self, name: str, value: object) -> None:
        """Ignore it."""

    def __setitem__(self, key: object, value: object) -> None:
        """Ignore it."""

    def __delattr__(self, name: str) -> None:
        """Ignore it."""

    def __delitem__(self, key: object) -> None:
        """Ignore it."""

    def __enter__(self) -> Unknown:
        return Unknown(f"{self._static_path}.__enter__()", self._static_why)

    def __exit__(self, *exc: object) -> None:
        return None

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> Any:
        if _is_for_a_type():
            return NotImplemented
        return Unknown(f"{self._static_path}.__eq__(…)", self._static_why)

    def __or__(self, other: object) -> Any:
        if other is None:
            return __import__("typing").Optional[self]
        return Unknown(f"{self._static_path}.__or__(…)", self._static_why)

    __ror__ = __or__

    @property  # type: ignore[misc]  # isinstance() must not answer "no"
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not _is_for_a_type():
            refuse(self)
        return Unknown


def is_unknown(value: object) -> bool:
    """Return whether a value is an Unknown; isinstance would raise a Refusal."""
    return type(value) is Unknown


def refuse(unknown: Unknown) -> NoReturn:
    """End the statement, which needs this value."""
    raise Refusal(unknown._static_why, unknown._static_path, made_at=unknown._static_at)


def _derive(name: str) -> Any:
    def operation(self: Unknown, *others: object) -> Unknown:
        return Unknown(f"{self._static_path}.{name}(…)", self._static_why)

    operation.__name__ = name
    return operation


def _refusing(name: str) -> Any:
    def operation(self: Unknown, *others: object) -> NoReturn:
        refuse(self)

    operation.__name__ = name
    return operation


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and xor lshift rshift"
_DERIVED = (
    *(f"__{name}__" for name in _OPERATORS.split()),
    *(f"__r{name}__" for name in _OPERATORS.split()),
    *[
        "__neg__",
        "__pos__",
        "__abs__",
        "__invert__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
    ],
)
_REFUSED = [
    "__bool__",
    "__bytes__",
    "__complex__",
    "__contains__",
    "__dir__",
    "__float__",
    "__format__",
    "__fspath__",
    "__index__",
    "__int__",
    "__iter__",
    "__len__",
    "__mro_entries__",
    "__next__",
    "__repr__",
    "__reversed__",
    "__round__",
    "__str__",
    "__instancecheck__",
    "__subclasscheck__",
]

for _name in _DERIVED:
    setattr(Unknown, _name, _derive(_name))
for _name in _REFUSED:
    setattr(Unknown, _name, _refusing(_name))


def find_unknown(value: Any, depth: int = 20) -> Unknown | None:
    """Return the first Unknown in a value, in containers and arguments of types, or None.

    A type inside of `cog.Opaque` may be unknown.
    """
    if is_unknown(value):
        result: Unknown = value
        return result
    if depth == 0 or isinstance(value, (str, bytes, int, float)):
        return None
    parts: list[Any] = []
    if isinstance(value, dict):
        parts += [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts += value
    elif type(value).__name__ == "FieldInfo":
        parts += [getattr(value, name) for name in value.__match_args__]
    else:
        parts += () if is_opaque(value) else arguments(value)
        marks = getattr(value, "__metadata__", ())
        parts += [mark for mark in marks if type(mark).__name__ == "FieldInfo"]
    for part in parts:
        inner = find_unknown(part, depth - 1)
        if inner is not None:
            return inner
    return None
