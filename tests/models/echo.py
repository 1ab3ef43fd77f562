"""Gives back what it gets."""

from typing import Any


def run(value: Any = {}) -> Any:
    return value


def text(text: str = "") -> str:
    return text
