"""What a model says of itself: the docstring of its class, or else of its function."""

from __future__ import annotations

from .signature import unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .load import Predictor


def description(predictor: Predictor) -> str:
    """Return the model's own description, "" where it has none."""
    cls = type(predictor.instance)
    text = None
    is_function = predictor.instance is None or predictor.instance is predictor.function
    if not is_function and not _made_by_dataclass(cls):
        text = cls.__doc__  # a class does not inherit it
    return clean(text or getattr(unwrap(predictor.function)[0], "__doc__", None))


def _made_by_dataclass(cls: type) -> bool:
    return hasattr(cls, "__dataclass_fields__") and (cls.__doc__ or "").startswith(
        cls.__name__ + "("
    )


def clean(docstring: object) -> str:
    r"""Return a docstring without the indentation that the source gives it.

    What inspect.cleandoc does; that module takes longer to import than the worker has.

    >>> clean("Paints.\n\n    With oil,\n      thickly.\n    ")
    'Paints.\n\nWith oil,\n  thickly.'
    """
    if not isinstance(docstring, str):
        return ""
    first, *rest = docstring.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip("\n")
