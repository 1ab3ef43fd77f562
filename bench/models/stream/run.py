"""Tokens as fast as they can be yielded: what is measured is everything but the model."""

import cog
from cog import BaseRunner, ConcatenateIterator


class Runner(BaseRunner):
    @cog.streaming
    def run(self, n: int = 1000) -> ConcatenateIterator[str]:
        for _ in range(n):
            yield "token "
