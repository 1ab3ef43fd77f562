"""Yields as fast as it can, once a named pipe is opened."""

from typing import Iterator

from cog import BaseRunner, streaming


class Runner(BaseRunner):
    @streaming
    def run(self, n: int, size: int) -> Iterator[str]:
        print("waits")
        with open("gate") as gate:
            gate.read()
        text = "x" * size
        for _ in range(n):
            yield text
