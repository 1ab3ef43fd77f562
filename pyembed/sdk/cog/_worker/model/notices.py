"""Notices for a model's author about inputs that are served although they look wrong."""

from __future__ import annotations

from .stored import required_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .load import Predictor


def apply_none_defaults(predictor: Predictor, none_defaults: str) -> None:
    """Apply the setting for inputs whose default is None and whose type has no None.

    "optional" lets them be None, as older Cog does. Otherwise requests must bring them, as with Cog
    0.23.
    """
    if none_defaults != "optional":
        return
    for field in predictor.signature.inputs:
        if field.none_default:
            field.allow_none()


def notices(predictor: Predictor, root: str) -> list[str]:
    """Return a line for each notice, with its place."""
    sentences = list(predictor.signature.warnings)
    required = None
    for field in predictor.signature.inputs:
        warnings = list(field.warnings)
        if field.none_default:
            if required is None:
                required = required_inputs(root, predictor.mode)
            if required.get(field.name, True):
                name = field.kind.name
                warnings.append(
                    f"its default is None but {name} does not allow None, so requests must "
                    f"include it, as with Cog 0.23; write `{name} | None`, or serve with "
                    "--none-defaults optional"
                )
        if field.source is not None:
            sentences += [field.source.locate(field.name, warning) for warning in warnings]
    return sentences
