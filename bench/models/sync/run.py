"""Echo, synchronous: what is measured is everything but the model."""

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, text: str) -> str:
        return text
