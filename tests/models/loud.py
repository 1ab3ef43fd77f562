"""Writes a lot before it serves."""

from cog import BaseRunner

print("while it was imported")


class Runner(BaseRunner):
    def setup(self) -> None:
        for i in range(3000):
            print(i, "x" * 1000)

    def run(self) -> None:
        print("one")
