"""The marker for inputs and outputs whose shape the schema does not describe."""


class _OpaqueMarker:
    """The type of `Opaque`, its only instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "cog.Opaque"

    def __reduce__(self) -> str:
        # Pickled by name, so that there is one marker in every process.
        return "Opaque"


Opaque = _OpaqueMarker()
"""Marks a type as any JSON object: its structure is neither shown nor checked.

Of a list it is each element that is, and of Optional what may also be null.

>>> from typing import Annotated
>>> from cog import Opaque
>>> class Config: ...
>>> def run(config: Annotated[Config, Opaque]) -> str: ...
"""
