"""Cancels that come while a `__del__` or a callback runs: what these raise goes no further."""

from __future__ import annotations

import sys

import _px

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_CANCELS = ("CancelationException", "CancelledError")


def unraisable(lost: UnraisableHookArgs) -> None:
    """Print what cannot be raised, as Python does, and have a cancel raised again."""
    sys.__unraisablehook__(lost)
    if getattr(lost.exc_type, "__name__", "") in _CANCELS:  # it may be None
        _px.hear_again()
