"""Kinds: the types of inputs and outputs that the interface distinguishes.

An annotation becomes a tree of kinds once, when the model is loaded. The schema,
the checks of defaults and the conversion of inputs use that tree.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ...coder import Coder


class Unsupported(Exception):
    """An annotation without a kind; the message says why and what to use."""


class Kind:
    """A type. `name` is its name in messages."""

    def __init__(self, name: str) -> None:
        self.name = name

    def children(self) -> tuple[Kind, ...]:
        """Return the kinds that this one is made of."""
        return ()

    def walk(self) -> Iterator[Kind]:
        """Yield this kind and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def contains(self, *types: type[Kind]) -> bool:
        """Return whether this kind or one below it is of these types."""
        return any(isinstance(kind, types) for kind in self.walk())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Scalar(Kind):
    """One of str, int, float, bool; `name` says which."""


class Anything(Kind):
    """Any JSON object: Any, object, a bare dict, or marked as `cog.Opaque`."""


class Untyped(Kind):
    """An output of unknown type, or None."""


class Text(Kind):
    """An output that becomes a string of a format: a date, a UUID, a Decimal."""

    def __init__(self, name: str, format: str) -> None:
        super().__init__(name)
        self.format = format


class PathKind(Kind):
    """A file on disk. `type` is the class that the model expects."""

    def __init__(self, name: str, type: type) -> None:
        super().__init__(name)
        self.type = type


class FileKind(Kind):
    """An open file."""


class SecretKind(Kind):
    """A string that is masked everywhere but in the model."""


class Choice(Kind):
    """One of some values. `base` is their JSON type, None if they differ.

    `enum` is the Enum class of the values, if they have one.
    """

    def __init__(self, name: str, values: list[Any], enum: type | None = None) -> None:
        super().__init__(name)
        self.values = values
        self.enum = enum
        self.base = common_base(values)


class Wrapper(Kind):
    """A kind made of one other: that of the items, the values, or what may also be None."""

    def __init__(self, name: str, inner: Kind) -> None:
        super().__init__(name)
        self.inner = inner

    def children(self) -> tuple[Kind, ...]:
        return (self.inner,)


class Listing(Wrapper):
    """A list; for outputs also a tuple or a set."""


class Streamed(Listing):
    """An input of items that come while the model runs; it gets them as an iterator."""


class AsyncStreamed(Streamed):
    """The same as an async iterator."""


class Bytes(Kind):
    """An item of an iterator: bytes, which are base64 in JSON, as an input also a data URL."""


class Array(Kind):
    """An input that the model gets as a numpy array.

    `dtype` is the name of its dtype, "" for any; `dimensions` their number, 0 for any.
    """

    def __init__(self, name: str, dtype: str, dimensions: int) -> None:
        super().__init__(name)
        self.dtype = dtype
        self.dimensions = dimensions


class ArrayOutput(Listing):
    """An output that is an array of numpy, torch or jax: a list in JSON.

    `dtype` is the name of its dtype, "" if it is not declared.
    """

    def __init__(self, name: str, dtype: str) -> None:
        super().__init__(name, Untyped("number"))
        self.dtype = dtype


class Mapping(Wrapper):
    """A dict with values of one kind."""


class Member:
    """One entry of a `Record`."""

    def __init__(self, name: str, kind: Kind, required: bool) -> None:
        self.name = name
        self.kind = kind
        self.required = required


class Record(Kind):
    """An object with known members: a TypedDict, a dataclass, a pydantic model."""

    def __init__(self, name: str, members: list[Member], is_dict: bool) -> None:
        super().__init__(name)
        self.members = members
        self.is_dict = is_dict

    def children(self) -> tuple[Kind, ...]:
        return tuple(member.kind for member in self.members)


class Coded(Kind):
    """A type of the model that a registered Coder converts."""

    def __init__(self, name: str, coder: Coder) -> None:
        super().__init__(name)
        self.coder = coder


class Nullable(Wrapper):
    """A kind or None."""


class OneOf(Kind):
    """A union of JSON types."""

    def __init__(self, name: str, options: list[Kind]) -> None:
        super().__init__(name)
        self.options = options

    def children(self) -> tuple[Kind, ...]:
        return tuple(self.options)


class Stream(Wrapper):
    """An output of items from an iterator or an async iterator."""

    def __init__(self, name: str, item: Kind, concatenate: bool, is_async: bool) -> None:
        super().__init__(name, item)
        self.concatenate = concatenate
        self.is_async = is_async


def strip(kind: Kind) -> Kind:
    """Return the kind without Nullable."""
    return kind.inner if isinstance(kind, Nullable) else kind


def common_base(values: list[Any]) -> str | None:
    """Return the one scalar type that all values have, or None.

    >>> common_base([1, 2.5])
    'float'
    >>> common_base(["a", 1]) is None
    True
    """
    names = {type(value).__name__ for value in values}
    if names == {"int", "float"}:
        return "float"
    name = names.pop() if len(names) == 1 else ""
    return name if name in ("str", "int", "float", "bool") else None
