"""A small perceptron on onnxruntime, in batches: nothing set but their size."""

import cog
from cog import BaseRunner
from mlp import Network


class Runner(BaseRunner):
    def setup(self) -> None:
        self.network = Network()

    @cog.batch(max_size=16)
    def run(self, x: list[list[float]]) -> list[int]:
        return self.network(x)
