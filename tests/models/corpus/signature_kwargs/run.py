"""Inputs that only the document of the image names."""

from cog import BaseRunner, Input


class Runner(BaseRunner):
    def run(self, text: str, count: int = Input(default=2), **more) -> str:
        return f"{text} {count} {sorted(more.items())}"
