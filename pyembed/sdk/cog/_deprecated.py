"""Names that old models still import. Each works, and gives a notice once, on stderr."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ExperimentalFeatureWarning(FutureWarning):
    """The category of warnings that older interfaces gave; nothing raises it now.

    >>> import warnings
    >>> from cog import ExperimentalFeatureWarning
    >>> warnings.filterwarnings("ignore", category=ExperimentalFeatureWarning)
    """


_noted: set[str] = set()


def emit_metric(name: str, value: Any) -> None:
    """Record a metric of the running prediction. Use `current_scope().record_metric`.

    >>> from cog import emit_metric
    >>> emit_metric("tokens", 3)  # outside a prediction: nothing happens
    """
    _note("emit_metric() is deprecated; use current_scope().record_metric(name, value) instead")
    from ._worker.scope import current_scope

    current_scope().record_metric(name, value)


def experimental_feature_warning() -> type[ExperimentalFeatureWarning]:
    """Return the class, with a notice at the first use."""
    _note("ExperimentalFeatureWarning is deprecated; remove its import and any filter for it")
    return ExperimentalFeatureWarning


def _note(text: str) -> None:
    if text not in _noted:
        _noted.add(text)
        print("cog: " + text, file=sys.stderr)
