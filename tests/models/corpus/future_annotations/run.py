"""Annotations that are text until somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from cog import BaseModel, BaseRunner, Input, Path, Secret

if TYPE_CHECKING:
    from nowhere import Nothing


class Mode(Enum):
    FAST = "fast"
    BEST = "best"


class Result(BaseModel):
    mode: Mode
    size: Literal["s", "m"]
    nested: dict[str, list[int]] | None = None


class Runner(BaseRunner):
    cache: dict[str, Nothing]

    def run(
        self,
        mode: Mode = Mode.FAST,
        size: Literal["s", "m"] = Input(default="s"),
        count: int | None = None,
        files: list[Path] = [],
        token: Secret | None = None,
        extra: dict[str, Any] = {},
    ) -> Iterator[Result]:
        for n in range(count or 1):
            yield Result(mode=mode, size=size, nested={"n": [n, len(files)]} if count else None)
