"""Yields tokens, once a gate is open."""

from collections.abc import Iterator

import cog
from cog import BaseRunner


class Runner(BaseRunner):
    @cog.streaming
    def run(self, n: int = 10, gate: str = "") -> Iterator[str]:
        print("begun")
        if gate:
            with open(gate) as file:  # a named pipe: opens when the test does
                file.read()
        for i in range(n):
            yield f"token {i}"
