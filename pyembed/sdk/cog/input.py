"""How a model declares its inputs."""

from __future__ import annotations

from ._dataclass_view import DataclassView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_UNSET = type("_Unset", (), {"__slots__": (), "__repr__": lambda self: "..."})()


class FieldInfo:
    """The arguments of `Input` for a parameter: a frozen dataclass.

    >>> from cog import FieldInfo, Input
    >>> Input(default=3, ge=1) == FieldInfo(default=3, ge=1)
    True
    """

    __match_args__ = (
        "default",
        "description",
        "ge",
        "le",
        "min_length",
        "max_length",
        "regex",
        "choices",
        "deprecated",
        "accept",
        "max_items",
    )
    __slots__ = (*__match_args__, "has_default")
    __dataclass_fields__ = DataclassView()
    __dataclass_params__ = DataclassView()

    default: Any
    description: str | None
    ge: float | None
    le: float | None
    min_length: int | None
    max_length: int | None
    regex: str | None
    choices: list[Any] | None
    deprecated: bool | None
    accept: str | None
    max_items: int | None
    has_default: bool  # tells Input(default=None) from Input(); no field, so not compared

    def __init__(
        self,
        default: Any = None,
        description: str | None = None,
        ge: float | None = None,
        le: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        regex: str | None = None,
        choices: list[Any] | None = None,
        deprecated: bool | None = None,
        accept: str | None = None,
        max_items: int | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "default", default)
        put(self, "description", description)
        put(self, "ge", ge)
        put(self, "le", le)
        put(self, "min_length", min_length)
        put(self, "max_length", max_length)
        put(self, "regex", regex)
        put(self, "choices", choices)
        put(self, "deprecated", deprecated)
        put(self, "accept", accept)
        put(self, "max_items", max_items)
        put(self, "has_default", default is not None)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"FieldInfo({inner})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldInfo):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._values(), self.has_default)


def _restore(values: tuple[Any, ...], has_default: bool) -> FieldInfo:
    info = FieldInfo(*values)
    object.__setattr__(info, "has_default", has_default)
    return info


def Input(  # noqa: N802, the name is the interface
    default: Any = _UNSET,
    *,
    default_factory: Any = None,
    description: str | None = None,
    ge: float | None = None,
    le: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    regex: str | None = None,
    choices: Iterable[Any] | None = None,
    deprecated: bool | None = None,
    accept: str | None = None,
    max_items: int | None = None,
) -> Any:
    """Describe a parameter of the predict function, as its default value.

    Without a default the input is required, unless its type is Optional. Clients
    see description, and that an input is deprecated, in the schema. ge and le
    bound a number, inclusively; min_length and max_length bound a string, in code
    points; regex is searched in it (anchor it to match all); choices lists the
    values allowed; accept names the media types of a file for forms; max_items
    bounds the number of items of a list or a streamed input, whose other bounds
    and choices are those of each item. The values are checked when the model is
    loaded, with the parameter's name in the message. Raises TypeError for
    default_factory: a default is part of the schema, and a mutable one is copied
    for each prediction anyway.

    >>> from cog import Input
    >>> def run(
    ...     prompt: str = Input(description="What to draw", max_length=500),
    ...     steps: int = Input(default=20, ge=1, le=100),
    ...     size: str = Input(default="small", choices=["small", "large"]),
    ... ) -> str: ...
    """
    if default_factory is not None:
        raise TypeError(
            "Input() does not support default_factory; pass the value, Input(default=...): "
            "a list or dict is copied for each prediction"
        )
    if isinstance(choices, (str, bytes)):
        raise TypeError(f"Input(): choices must be a list of values, not {type(choices).__name__}")
    if default is Ellipsis:
        default = _UNSET  # in old models it says that the input is required
    info = FieldInfo(
        None if default is _UNSET else default,
        description,
        ge,
        le,
        min_length,
        max_length,
        regex,
        choices if choices is None or isinstance(choices, list) else list(choices),
        deprecated,
        accept,
        max_items,
    )
    object.__setattr__(info, "has_default", default is not _UNSET)
    return info
