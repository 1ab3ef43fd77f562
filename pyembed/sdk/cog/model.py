"""Structured outputs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform():
        """Stand in for typing.dataclass_transform, which only 3.11 has."""
        return lambda cls: cls


@dataclass_transform()
class BaseModel:
    """Base of output types: each subclass becomes a dataclass.

    ``auto_dataclass=False`` in the class line leaves the class as it is;
    other arguments there go to `dataclasses.dataclass`.

    >>> from cog import BaseModel
    >>> class Detection(BaseModel):
    ...     label: str
    ...     score: float = 0.0
    >>> Detection("cat", score=0.9)
    Detection(label='cat', score=0.9)
    """

    def __init_subclass__(
        cls, *, auto_dataclass: bool = True, init: bool = True, **kwargs: object
    ) -> None:
        """Make the subclass a dataclass."""
        import dataclasses

        options = {key: kwargs.pop(key) for key in tuple(kwargs) if key in _DATACLASS_OPTIONS}
        super().__init_subclass__(**kwargs)
        if auto_dataclass and "__dataclass_params__" not in cls.__dict__:
            dataclasses.dataclass(init=init, **options)(cls)  # type: ignore[call-overload]


_DATACLASS_OPTIONS = frozenset(
    {"repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only"}
)
