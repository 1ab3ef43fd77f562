"""The parameters of a function, as it declares them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..errors import LoadError
    from .signature import Source

_CO_VARARGS, _CO_VARKEYWORDS = 0x04, 0x08


class Parameter:
    """A parameter as the function declares it, before anything is made of it."""

    __slots__ = ("annotated", "annotation", "declared", "default", "name")

    def __init__(
        self, name: str, annotated: bool, annotation: object, declared: bool, default: Any
    ) -> None:
        self.name = name
        self.annotated = annotated
        self.annotation = annotation
        self.declared = declared
        self.default = default


def input_name(parameter: str, qualname: str) -> str:
    """Return a parameter's name as the source has it: to private ones Python adds their class.

    >>> input_name("_Runner__seed", "Runner.run")
    '__seed'
    """
    owner = qualname.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    prefix = f"_{owner}__"
    if not owner or not parameter.startswith(prefix) or parameter.endswith("__"):
        return parameter
    return parameter[len(prefix) - 2 :]


def read_parameters(
    function: Any,
    inner: Any,
    bound: int,
    source: Source,
    excuse: Callable[[LoadError], bool] | None = None,
) -> tuple[list[Parameter], tuple[bool, object]]:
    """Return the named parameters and the return type.

    *args and **kwargs beside them are left out: no input has a name for them. excuse is asked about
    a function that has nothing else.
    """
    code = getattr(inner, "__code__", None)
    if code is None or hasattr(inner, "__signature__"):
        return _inspected(function, source, excuse)
    try:
        annotations = dict(inner.__annotations__)
    except NameError as exc:  # 3.14 evaluates them here
        raise source.error("", f"its annotations cannot be read: {exc}") from exc
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = inner.__defaults__ or ()
    by_name = dict(zip(names[count - len(defaults) : count], defaults, strict=True))
    by_name.update(inner.__kwdefaults__ or {})
    found = []
    for position, name in enumerate(names):
        if position < bound:
            continue
        if position < code.co_posonlyargcount:
            raise source.error(name, "it is positional only; inputs are passed by name")
        found.append(
            Parameter(
                name, name in annotations, annotations.get(name), name in by_name, by_name.get(name)
            )
        )
    if not found and code.co_flags & (_CO_VARARGS | _CO_VARKEYWORDS):
        _refuse_variable(source, excuse)
    return found, ("return" in annotations, annotations.get("return"))


def _refuse_variable(source: Source, excuse: Callable[[LoadError], bool] | None) -> None:
    fault = source.error(
        "",
        "it takes *args or **kwargs, so its inputs have no names and types; "
        "declare each one (a decorator should use functools.wraps)",
    )
    if excuse is None or not excuse(fault):
        raise fault


def _inspected(
    function: Any, source: Source, excuse: Callable[[LoadError], bool] | None
) -> tuple[list[Parameter], tuple[bool, object]]:
    """Read the parameters of partials and the like, which inspect knows how to do."""
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as exc:
        raise source.error("", f"its signature cannot be read: {exc}") from exc
    found: list[Parameter] = []
    variable = False
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            variable = True
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise source.error(parameter.name, "it is positional only; inputs are passed by name")
        declared = parameter.default is not parameter.empty
        found.append(
            Parameter(
                parameter.name,
                parameter.annotation is not parameter.empty,
                parameter.annotation,
                declared,
                parameter.default if declared else None,
            )
        )
    if variable and not found:
        _refuse_variable(source, excuse)
    returned = signature.return_annotation
    return found, (returned is not signature.empty, returned)
