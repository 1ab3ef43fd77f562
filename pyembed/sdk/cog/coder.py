"""Converters between JSON objects and a model's own types."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Coder:
    """Converts one family of types from and to JSON objects.

    A registered coder makes its types usable as inputs and outputs: `decode`
    gets the JSON object of an input, `encode` returns that of an output.

    >>> from cog.coder import Coder
    >>> class Point:
    ...     def __init__(self, x: int, y: int) -> None:
    ...         self.x, self.y = x, y
    >>> class PointCoder(Coder):
    ...     @staticmethod
    ...     def factory(tpe):
    ...         return PointCoder() if tpe is Point else None
    ...     def encode(self, x):
    ...         return {"x": x.x, "y": x.y}
    ...     def decode(self, x):
    ...         return Point(x["x"], x["y"])
    >>> Coder.register(PointCoder)
    >>> Coder.lookup(Point).decode({"x": 1, "y": 2}).y
    2
    """

    _coders: ClassVar[set[type[Coder]]] = set()

    @staticmethod
    def register(coder: type[Coder]) -> None:
        """Make a coder class known; the last one registered is asked first."""
        # A set would ask in an order that changes from run to run.
        _order.pop(coder, None)
        _order[coder] = None
        Coder._coders.add(coder)

    @staticmethod
    def lookup(tpe: Any) -> Coder | None:
        """Return a coder for the type, or None."""
        for coder in reversed(_order):
            built = coder.factory(tpe)
            if built is not None:
                return built
        return None

    @staticmethod
    def factory(tpe: Any) -> Coder | None:
        """Return a coder if this class handles the type, else None."""
        return None

    def encode(self, x: Any) -> dict[str, Any]:
        """Return the JSON object for a value."""
        raise NotImplementedError(f"{type(self).__name__} must define encode()")

    def decode(self, x: dict[str, Any]) -> Any:
        """Return the value for a JSON object."""
        raise NotImplementedError(f"{type(self).__name__} must define decode()")


_order: dict[type[Coder], None] = {}


# Models that were made for an early runtime import these for their effect, which is built in today.
dataclass_coder = json_coder = set_coder = Coder()
