"""The type of inputs that must not show up in logs and answers."""

from __future__ import annotations

from ._dataclass_view import DataclassView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MASK = "**********"


class Secret:
    """A string that does not print itself: a token, a password.

    A frozen dataclass. `get_secret_value` is the only way to the content.

    >>> from cog import Secret
    >>> token = Secret("hunter2")
    >>> print(token), token
    **********
    (None, Secret(**********))
    >>> token.get_secret_value()
    'hunter2'
    """

    __match_args__ = ("secret_value",)
    __dataclass_fields__ = DataclassView()
    __dataclass_params__ = DataclassView()

    secret_value: str | None

    def __init__(self, secret_value: str | None = None) -> None:
        object.__setattr__(self, "secret_value", secret_value)

    def get_secret_value(self) -> str | None:
        """Return the content."""
        return self.secret_value

    def __str__(self) -> str:
        return MASK if self.secret_value is not None else ""

    def __repr__(self) -> str:
        return f"Secret({self})"

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self.secret_value == getattr(other, "secret_value", None)

    def __hash__(self) -> int:
        return hash((self.secret_value,))

    def __setattr__(self, name: str, value: object) -> None:
        if type(self) is Secret or name == "secret_value":
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if type(self) is Secret or name == "secret_value":
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super().__delattr__(name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Mask it in what a pydantic model dumps, as the worker does with one that is returned."""
        schema: Any = handler(source)
        schema["serialization"] = {"type": "function-plain", "function": str}
        return schema


Secret.__module__ = "cog.types"
