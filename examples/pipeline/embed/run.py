"""Turn texts into vectors that count groups of three letters."""

import math
import zlib

from cog import BaseRunner, Input, batch

SIZE = 256  # of a vector


def vector_of(text: str) -> list[float]:
    """Return a vector of length 1, or of zeros for a text without letters."""
    vector = [0.0] * SIZE
    for word in text.lower().split():
        padded = f" {word} "
        for at in range(len(padded) - 2):
            vector[zlib.crc32(padded[at : at + 3].encode()) % SIZE] += 1
    length = math.sqrt(sum(x * x for x in vector)) or 1
    return [x / length for x in vector]


class Runner(BaseRunner):
    """Texts with the same words have vectors whose dot product is near to 1."""

    @batch(max_size=64)
    def run(self, text: list[str] = Input(description="A text")) -> list[list[float]]:
        """Return a vector for each text; a call gets all texts that wait."""
        return [vector_of(one) for one in text]
