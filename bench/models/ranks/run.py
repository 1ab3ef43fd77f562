"""A model of several processes that only measures a text."""

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, text: str) -> int:
        return len(text)
