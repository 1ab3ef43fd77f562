"""What Input() says about a parameter, as its default and in its annotation."""

from __future__ import annotations

from ..input import FieldInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .annotations import Reader
    from .parameters import Parameter


class Declaration:
    """What a parameter says about its input beside the type.

    `declared` says whether there is a default, None included; `native` whether a call fills it in.
    `used` is each Input() that `info` is made of.
    """

    __slots__ = ("declared", "info", "native", "used")

    def __init__(
        self, info: FieldInfo, declared: bool, native: bool, used: list[FieldInfo]
    ) -> None:
        self.info = info
        self.declared = declared
        self.native = native
        self.used = used


def read_declaration(parameter: Parameter, reader: Reader) -> Declaration:
    """Return what a parameter declares; what stands as its default counts before its annotation."""
    default = parameter.default
    infos = reader.inputs_in(parameter.annotation) if parameter.annotated else []
    if isinstance(default, FieldInfo):
        infos.append(default)
    info = infos[0] if len(infos) == 1 else _merged(infos)
    if not parameter.declared or isinstance(default, FieldInfo):
        return Declaration(info, info.has_default, False, infos)
    if default is Ellipsis:  # it says that the input is required
        return Declaration(_with_default(info, None, False), False, False, infos)
    return Declaration(_with_default(info, default, True), True, True, infos)


def _merged(infos: list[FieldInfo]) -> FieldInfo:
    """Return one for all: of what several say, the last counts."""
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
