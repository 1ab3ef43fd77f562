"""A model as a careful author types it. Checked by mypy in test_typing, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import cog
from cog import (
    BaseModel,
    BasePredictor,
    BaseRunner,
    ConcatenateIterator,
    Input,
    Path,
    Secret,
    concurrent,
    current_scope,
    streaming,
)


class Out(BaseModel):
    text: str
    score: float = 0.0


class Runner(BaseRunner):
    def setup(self) -> None:
        self.prefix = "x"

    def run(
        self,
        text: str = Input(description="d", max_length=10),
        image: Path = Input(accept="image/*"),
        token: Secret = Input(default=None),
        size: str = Input(choices=["s", "m"], default="s"),
    ) -> Out:
        self.record_metric("a", 1, mode="incr")
        current_scope().metrics["b"] = 2
        secret: str | None = token.get_secret_value()
        return Out(text=f"{text}{image.name}{secret}", score=1.0)


class Weighted(BaseRunner):
    async def setup(self, weights: Path | None = None) -> None: ...

    @concurrent(max=4)
    async def run(self, n: int) -> AsyncIterator[str]:
        yield str(n)


class Old(BasePredictor):
    @streaming
    def predict(self, n: int) -> ConcatenateIterator[str]:
        yield str(n)

    @streaming()
    def other(self, n: int) -> Iterator[int]:
        yield n


def wrong_uses() -> None:
    Out(text=1)  # type: ignore[arg-type]
    Out()  # type: ignore[call-arg]
    cog.Nope  # type: ignore[attr-defined]
    cog.types.Nope  # type: ignore[attr-defined]
    Input(default_factory=list, nope=1)  # type: ignore[call-arg]
    concurrent(max="4")  # type: ignore[call-overload]


def fine(value: Any) -> cog.Path:
    return cog.types.Path(value)
