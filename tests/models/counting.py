"""For the long runs: says which prediction it was."""

import asyncio
import time

from cog import BaseRunner


class Storm(BaseRunner):
    """Short predictions of different lengths, some of which wait."""

    def run(self, token: str, turns: int = 0, wait: float = 0) -> str:
        for _ in range(turns):
            pass
        if wait:
            time.sleep(wait)
        return token


class AsyncStorm(BaseRunner):
    async def run(self, token: str, turns: int = 0, wait: float = 0) -> str:
        for _ in range(turns):
            pass
        if wait:
            await asyncio.sleep(wait)
        return token
