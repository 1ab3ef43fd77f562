"""Echo, asynchronous, one at a time."""

from cog import BaseRunner


class Runner(BaseRunner):
    async def run(self, text: str) -> str:
        return text
