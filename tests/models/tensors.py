"""Models that clients of the Open Inference Protocol ask."""

import numpy as np
from cog import BaseRunner, ConcatenateIterator
from numpy.typing import NDArray


class Scaler(BaseRunner):
    """Scales an array."""

    def run(self, x: NDArray[np.float32], k: float = 2.0) -> list[list[float]]:
        return (x * k).tolist()


class Writer(BaseRunner):
    """Repeats a text."""

    def run(self, text: str, n: int = 2) -> ConcatenateIterator[str]:
        if text == "bad":
            raise ValueError("no such text")
        for i in range(n):
            yield text + str(i)
