"""The perceptron of onnx-batch, whose inputs are declared as arrays: numbers never become Python objects."""

import cog
import numpy
from cog import BaseRunner
from mlp import Network

Picture = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]


class Runner(BaseRunner):
    def setup(self) -> None:
        self.network = Network()

    @cog.batch(max_size=16)
    def run(self, x: list[Picture]) -> list[int]:
        return self.network(x)
