"""The same model for several clients: each step is one batch of all pictures that are being made."""

import secrets

import cog
import numpy as np
from cog import BaseRunner, Input, Path
from denoiser import Denoiser, noise, save


class Picture:
    def __init__(self, image: np.ndarray, text: np.ndarray) -> None:
        self.image, self.text = image, text


class Runner(BaseRunner):
    def setup(self) -> None:
        self.denoiser = Denoiser("weights/denoiser.npz")

    @cog.batch(max_size=8)
    def step(self, picture: list[Picture]) -> list[np.ndarray]:
        images, texts = [each.image for each in picture], [each.text for each in picture]
        return list(self.denoiser.step(np.stack(images), np.stack(texts)))

    @cog.concurrent(max=8)
    async def run(
        self,
        prompt: str,
        steps: int = Input(default=20, ge=1, le=1000),
        seed: int = Input(default=-1, ge=-1, le=2**32 - 1, description="-1: a random one"),
    ) -> Path:
        if seed < 0:
            seed = secrets.randbelow(2**32)
        self.record_metric("seed", seed)
        picture = Picture(noise(seed, 64), self.denoiser.encode(prompt))
        for n in range(steps):
            picture.image = await self.step(picture)
            self.record_metric("progress", (n + 1) / steps)
        return save(picture.image)
