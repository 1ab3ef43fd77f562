"""Makes a picture of noise, step by step."""

import secrets
from collections.abc import Iterator

from cog import BaseRunner, Input, Path, streaming
from denoiser import Denoiser, noise, save


class Runner(BaseRunner):
    def setup(self) -> None:
        self.denoiser = Denoiser("weights/denoiser.npz")

    @streaming
    def run(
        self,
        prompt: str,
        steps: int = Input(default=20, ge=1, le=1000),
        size: int = Input(default=64, choices=[64, 512, 1024]),
        seed: int = Input(default=-1, ge=-1, le=2**32 - 1, description="-1: a random one"),
        previews: bool = Input(default=False, description="a picture after each tenth step too"),
    ) -> Iterator[Path]:
        if seed < 0:
            seed = secrets.randbelow(2**32)
        self.record_metric("seed", seed)
        text = self.denoiser.encode(prompt)
        image = noise(seed, size)
        for n in range(steps):
            [image] = self.denoiser.step(image[None], text[None])
            self.record_metric("progress", (n + 1) / steps)
            if previews and n % 10 == 9 and n + 1 < steps:
                yield save(image)
        yield save(image)
