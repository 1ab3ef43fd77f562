"""An async healthcheck, beside async predictions."""

import asyncio

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.broken = False

    async def run(self, break_it: bool = False) -> bool:
        self.broken = break_it
        return break_it

    async def healthcheck(self) -> bool:
        await asyncio.sleep(0)
        return not self.broken
