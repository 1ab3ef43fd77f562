"""Streams on one event loop, of which one may block it."""

import asyncio
from collections.abc import AsyncIterator

from cog import BaseRunner, concurrent


class Runner(BaseRunner):
    @concurrent(max=64)
    async def run(self, n: int, gate: str = "") -> AsyncIterator[int]:
        for i in range(n):
            yield i
            if gate:
                with open(gate) as fifo:
                    fifo.read()
            await asyncio.sleep(0)
        if not gate:
            await asyncio.Event().wait()
