"""The functions of a model beside its run: the methods with @function."""

from __future__ import annotations

from ..._decorators import FUNCTION_ATTRIBUTE
from ..schema.signature import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .load import Predictor

# Below /models/NAME these are routes, and in the names of other protocols they would read as such.
_ROUTES = (
    *("dashboard", "docs", "files", "functions", "health-check", "livez", "load", "mcp", "metrics"),
    *("models", "predictions", "readyz", "reload", "shutdown", "traffic", "trainings", "unload"),
)
_LONGEST = 64


def is_function(value: Any) -> bool:
    """Return whether a value of a class has @function."""
    return bool(_name_of(value))


def _name_of(value: Any) -> str:
    # Not getattr: a value of a missing package has any attribute that it is asked for.
    attributes = getattr(value, "__dict__", None)
    return attributes.get(FUNCTION_ATTRIBUTE, "") if type(attributes) is dict else ""


def methods_of(cls: type) -> dict[str, Any]:
    """Return the methods of a class with @function by their names, in the order of the source."""
    found: dict[str, Any] = {}
    for owner in reversed(cls.__mro__):
        for attribute, value in vars(owner).items():
            found.pop(attribute, None)  # this one overrides it
            inner = value.fget if isinstance(value, property) else value
            if is_function(inner):
                found[attribute] = value
    return found


def bound_methods(owner: Any) -> dict[str, Any]:
    """Return those of an object. A property, which is a fault, is not read."""
    methods = methods_of(type(owner)).items()
    return {name: getattr(owner, name) for name, v in methods if not isinstance(v, property)}


def read_functions(
    main: Predictor, make: Callable[[Callable[..., Any]], Predictor], root: str
) -> tuple[Predictor, ...]:
    """Return the functions of a model; raise LoadError for faults.

    main is one of them if the model has no run. make returns that of a bound method.
    """
    methods = methods_of(type(main.instance))
    functions: dict[str, Predictor] = {}
    for attribute, value in methods.items():
        bound = None if isinstance(value, property) else getattr(main.instance, attribute)
        source = Source(value.fget if bound is None else bound, root)
        name = _name_of(value.fget if bound is None else value)
        fault = "@function decorates a property; make it a method" if bound is None else ""
        fault = fault or _fault(attribute, name, list(functions))
        if fault:
            raise source.error("", fault)
        read = main if main.name == name and _same(main.function, bound) else make(bound)  # type: ignore[arg-type]
        if read.is_async is not main.is_async:
            a, b = ("async def", "def") if read.is_async else ("def", "async def")
            raise source.error(
                "",
                f"it is {a} and {main.signature.name} is {b}; "
                "write all functions of a class as def, or all as async def",
            )
        functions[name] = read
    return tuple(functions.values())


def _same(one: Any, other: Any) -> bool:
    return getattr(one, "__func__", one) is getattr(other, "__func__", other)


def _fault(attribute: str, name: str, before: list[str]) -> str:
    plain = name.replace("-", "").replace("_", "")
    if attribute.startswith("_"):
        return f"@function is on the private method {attribute}; give it a name without _"
    if not (plain.isascii() and plain.isalnum() and name[0].isalnum() and len(name) <= _LONGEST):
        return (
            f"the function cannot be named {name!r}; use a-z A-Z 0-9 _ -, a letter or digit first, "
            f"at most {_LONGEST} in all"
        )
    if name in _ROUTES:
        return f"the function cannot be named {name!r}, which is a route; give @function a name"
    if name in before:
        return f"two functions are named {name!r}; give one of them another name"
    return ""
