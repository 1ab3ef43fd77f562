"""Dataclasses without the import of dataclasses."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DataclassView:
    """Makes a class look like a frozen dataclass, without importing dataclasses.

    dataclasses brings the inspect module with it, and `Input` and `Secret` run in the
    signatures of many models. The attributes that mark a dataclass are therefore taken from
    a real one, made at the first look. Its fields are the `__match_args__` of the class,
    with the types of its annotations; each has None as its default.
    """

    def __set_name__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        import dataclasses

        types: dict[str, Any] = self.cls.__annotations__
        names: tuple[str, ...] = getattr(self.cls, "__match_args__", ())
        shadow = dataclasses.make_dataclass(
            self.cls.__name__,
            [(name, types[name], dataclasses.field(default=None)) for name in names],
            frozen=True,
        )
        return getattr(shadow, self.name)
