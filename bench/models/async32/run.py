"""Echo, asynchronous, up to 32 at once."""

from cog import BaseRunner, concurrent


class Runner(BaseRunner):
    @concurrent(max=32)
    async def run(self, text: str) -> str:
        return text
