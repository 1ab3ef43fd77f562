"""Echo that awaits for a millisecond first, as a model does that asks another server."""

import asyncio

from cog import BaseRunner, concurrent


class Runner(BaseRunner):
    @concurrent(max=64)
    async def run(self, text: str) -> str:
        await asyncio.sleep(0.001)
        return text
