"""Models that generated clients ask (tests/clients)."""

import os
import time
from typing import Optional

from cog import BaseModel, BaseRunner, ConcatenateIterator, Input, Path, streaming


class Drawing(BaseModel):
    prompt: str
    steps: int
    style: str
    size: int


class Painter(BaseRunner):
    """Paints."""

    def run(
        self,
        prompt: str,
        steps: int = Input(default=3, ge=1, le=9),
        style: str = Input(default="oil", choices=["oil", "ink"]),
        image: Optional[Path] = None,
    ) -> Drawing:
        if prompt == "fail":
            raise ValueError("told to")
        while prompt == "wait" and not os.path.exists("open"):
            time.sleep(0.002)
        return Drawing(prompt=prompt, steps=steps, style=style, size=image.stat().st_size if image else 0)


class Speaker(BaseRunner):
    @streaming
    def run(self, words: int = 3) -> ConcatenateIterator[str]:
        for i in range(words):
            yield f"word{i} "


def train(epochs: int = Input(default=2, ge=1)) -> str:
    return f"trained {epochs}"
