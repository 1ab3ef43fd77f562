"""What is odd in a model's inputs and served all the same, for its author to read."""

from __future__ import annotations

from .stored import required_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .load import Predictor


def settle_none_defaults(predictor: Predictor, none_defaults: str) -> None:
    """Make inputs with the default None and a type without None what the setting says.

    With "optional" they may be None, as with older Cog; else requests must bring them, as with
    Cog 0.23.
    """
    if none_defaults != "optional":
        return
    for field in predictor.signature.inputs:
        if field.none_default:
            field.allow_none()


def notices(predictor: Predictor, root: str) -> list[str]:
    """Return a line for each oddity, with its place."""
    found = []
    required = None
    for field in predictor.signature.inputs:
        doubts = list(field.doubts)
        if field.none_default:
            if required is None:
                required = required_inputs(root, predictor.mode)
            if required.get(field.name, True):
                name = field.kind.name
                doubts.append(
                    f"its default is None and {name} has no None, so requests must bring it, as "
                    f"with Cog 0.23; write `{name} | None`, or serve with --none-defaults optional"
                )
        if field.source is not None:
            found += [field.source.locate(field.name, doubt) for doubt in doubts]
    return found
