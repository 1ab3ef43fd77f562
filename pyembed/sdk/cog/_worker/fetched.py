"""Weights that the server fetches while the model is imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def use(config: dict[str, Any]) -> None:
    """Have `cog.weights` wait where the server says when they are there."""
    if config.get("fetched"):
        from cog._weights import Gate

        Gate.folder = config["fetched"]["folder"]


def await_for_setup(config: dict[str, Any]) -> None:
    """Wait for the weights that setup needs."""
    if not config.get("fetched"):
        return
    from cog._weights import await_weights

    from .model.load import LoadError

    for name in config["fetched"]["wait"]:
        line, problem, _ = await_weights(name)
        if problem:
            fix = "" if "; " in problem else "; 'pinion weights pull' tries it without the model"
            raise LoadError(f"cog.yaml:{line}: weights {name}: {problem}{fix}")
