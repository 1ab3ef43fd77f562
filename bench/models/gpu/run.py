"""The encoder: one sequence a prediction, or a batch of them."""

import os

import torch
from cog import BaseRunner, batch
from encoder import Encoder, sequence


class Single(BaseRunner):
    """A sequence at a time in each slot."""

    def setup(self) -> None:
        """Make the weights."""
        self.encoder = Encoder()

    def run(self, x: int) -> int:
        """Compute one sequence."""
        return self.encoder.on_stream(sequence(x).unsqueeze(0))[0]


class Batched(BaseRunner):
    """All that wait, at once."""

    def setup(self) -> None:
        """Make the weights."""
        self.encoder = Encoder()

    @batch(max_size=int(os.environ.get("BATCH", "16")))
    def run(self, x: list[int]) -> list[int]:
        """Compute all of them."""
        return self.encoder(torch.stack([sequence(i) for i in x]))
