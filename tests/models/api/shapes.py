"""A streaming and training model with outputs that have a shape."""

from typing import AsyncIterator, Optional

from cog import BaseModel, BaseRunner, Input, Secret, streaming


class Weights(BaseModel):
    name: str
    loss: list[float]
    note: Optional[str] = None


class Stream(BaseRunner):
    @streaming
    async def run(
        self, prompt: str = "a b", n: int = Input(default=2, ge=0, le=5), key: Secret = Secret("k")
    ) -> AsyncIterator[str]:
        for i in range(n):
            print("token", i)
            yield prompt[i : i + 1]


def train(name: str, epochs: int = Input(default=1, ge=1, le=4), tags: list[str] = []) -> Weights:
    """A training that tells of its loss."""
    return Weights(name=name, loss=[1.0 / (i + 1) for i in range(epochs)])
