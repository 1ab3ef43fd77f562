"""The parameters of a function, and what Input() declares about them."""

from __future__ import annotations

from ...input import FieldInfo
from .typeforms import annotations_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .annotations import Reader
    from .signature import Source

CO_VARARGS, CO_VARKEYWORDS = 0x04, 0x08


class Parameter:
    """A parameter as the function declares it."""

    def __init__(
        self, name: str, annotated: bool, annotation: object, declared: bool, default: Any
    ) -> None:
        self.name = name
        self.annotated = annotated
        self.annotation = annotation
        self.declared = declared
        self.default = default


def input_name(parameter: str, qualname: str) -> str:
    """Return a parameter's name in the source: Python adds the class to private names.

    >>> input_name("_Runner__seed", "Runner.run")
    '__seed'
    """
    owner = qualname.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    prefix = f"_{owner}__"
    if not owner or not parameter.startswith(prefix) or parameter.endswith("__"):
        return parameter
    return parameter[len(prefix) - 2 :]


# The message for a function whose only parameters are *args or **kwargs.
VARIABLE = (
    "it takes *args or **kwargs, so its inputs have no names and types, and none is checked; "
    "declare each one (a decorator should use functools.wraps)"
)


def read_parameters(source: Source) -> tuple[list[Parameter], int, tuple[bool, object]]:
    """Return the named parameters of a function, its flags if there are none, and its return type.

    The flags are those of its code for *args and **kwargs, which name no input.
    """
    inner, code = source.inner, source.code
    if code is None or hasattr(inner, "__signature__"):
        return _inspected(source)
    annotations = annotations_of(inner)
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = inner.__defaults__ or ()
    by_name = dict(zip(names[count - len(defaults) : count], defaults, strict=True))
    by_name.update(inner.__kwdefaults__ or {})
    parameters = []
    for position, name in enumerate(names):
        if position < source.bound:
            continue
        if position < code.co_posonlyargcount:
            raise source.error(name, "it is positional only; inputs are passed by name")
        parameters.append(
            Parameter(
                name, name in annotations, annotations.get(name), name in by_name, by_name.get(name)
            )
        )
    flags = 0 if parameters else code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    return parameters, flags, ("return" in annotations, annotations.get("return"))


def _inspected(source: Source) -> tuple[list[Parameter], int, tuple[bool, object]]:
    """Read the parameters of a partial and of other callables by inspect."""
    import inspect

    try:
        try:
            signature = inspect.signature(source.function)
        except NameError:  # as in annotations_of
            from annotationlib import Format  # type: ignore[import-not-found]

            quoting: dict[str, Any] = {"annotation_format": Format.FORWARDREF}
            signature = inspect.signature(source.function, **quoting)
    except (TypeError, ValueError) as exc:
        raise source.error("", f"its signature cannot be read: {exc}") from exc
    parameters: list[Parameter] = []
    flags = 0
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            keywords = parameter.kind is parameter.VAR_KEYWORD
            flags |= CO_VARKEYWORDS if keywords else CO_VARARGS
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise source.error(parameter.name, "it is positional only; inputs are passed by name")
        declared = parameter.default is not parameter.empty
        parameters.append(
            Parameter(
                parameter.name,
                parameter.annotation is not parameter.empty,
                parameter.annotation,
                declared,
                parameter.default if declared else None,
            )
        )
    returned = signature.return_annotation
    return parameters, 0 if parameters else flags, (returned is not signature.empty, returned)


class Declaration:
    """What a parameter declares about its input besides the type.

    `declared` says whether there is a default, None included; `native` whether Python fills it in.
    `used` is each Input() that `info` combines.
    """

    def __init__(
        self, info: FieldInfo, declared: bool, native: bool, used: list[FieldInfo]
    ) -> None:
        self.info = info
        self.declared = declared
        self.native = native
        self.used = used


def read_declaration(parameter: Parameter, reader: Reader) -> Declaration:
    """Return what a parameter declares. Input() as its default overrides its annotation."""
    default = parameter.default
    infos = reader.inputs_in(parameter.annotation) if parameter.annotated else []
    if isinstance(default, FieldInfo):
        infos.append(default)
    info = infos[0] if len(infos) == 1 else _merged(infos)
    if not parameter.declared or isinstance(default, FieldInfo):
        return Declaration(info, info.has_default, False, infos)
    if default is Ellipsis:  # the input is required
        return Declaration(_with_default(info, None, False), False, False, infos)
    return Declaration(_with_default(info, default, True), True, True, infos)


def _merged(infos: list[FieldInfo]) -> FieldInfo:
    """Return all combined; a later value overrides an earlier one."""
    said = {
        name: value
        for info in infos
        for name, value in zip(info.__match_args__, info._values(), strict=True)
        if value is not None
    }
    with_default = [info for info in infos if info.has_default]
    default = with_default[-1].default if with_default else None
    return _with_default(FieldInfo(**said), default, bool(with_default))


def _with_default(info: FieldInfo, default: object, has_default: bool) -> FieldInfo:
    result = FieldInfo(default, *info._values()[1:])
    object.__setattr__(result, "has_default", has_default)
    return result
