"""Running a model's setup function."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .load import Predictor


def weights_of(config: dict[str, Any]) -> str | None:
    """Return what `setup(weights)` gets: COG_WEIGHTS, else ./weights where that exists."""
    weights: str | None = config.get("weights") or None
    if weights is None and os.path.exists("weights"):
        weights = "weights"
    return weights


def call_setup(predictor: Predictor, config: dict[str, Any]) -> Any:
    """Call setup, which may return a coroutine; do nothing where there is none."""
    if predictor.setup is None:
        return None
    if not predictor.setup_takes_weights:
        return predictor.setup()
    weights = weights_of(config)
    return predictor.setup(weights=None if weights is None else predictor.weights_argument(weights))


def run_setup(predictor: Predictor, config: dict[str, Any]) -> None:
    """Run a synchronous setup."""
    call_setup(predictor, config)
