"""setup and predictions share one loop: what setup made there can be awaited later."""

import asyncio
import contextlib

from cog import BaseRunner


class Session:
    """Like an HTTP client's session: bound to the loop that it was made on."""

    async def __aenter__(self):
        self.loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_):
        pass

    async def get(self, name: str) -> str:
        future = self.loop.create_future()
        self.loop.call_later(0, future.set_result, f"got {name}")
        return await future


class Runner(BaseRunner):
    async def setup(self) -> None:
        self.stack = contextlib.AsyncExitStack()
        self.session = await self.stack.enter_async_context(Session())
        self.lock = asyncio.Lock()
        self.ticks = 0
        self.ticker = asyncio.create_task(self.tick())

    async def tick(self) -> None:
        while True:
            self.ticks += 1
            await asyncio.sleep(0)

    async def run(self, name: str) -> dict:
        before = self.ticks
        async with self.lock:
            text = await asyncio.wait_for(self.session.get(name), 30)
        return {"text": text, "ticking": self.ticks > before}
