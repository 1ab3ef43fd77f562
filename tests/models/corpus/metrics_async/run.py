"""Metrics from tasks, gather, threads and callbacks of an async prediction."""

import asyncio

from cog import BaseRunner, concurrent, current_scope


async def count(n: int) -> None:
    await asyncio.sleep(0)
    current_scope().record_metric("tasks", n, "incr")


class Runner(BaseRunner):
    @concurrent(max=8)
    async def run(self, name: str, n: int) -> str:
        await asyncio.gather(*(count(1) for _ in range(n)))
        await asyncio.create_task(count(10))
        await asyncio.to_thread(self.record_metric, "thread", name)
        called = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: (self.record_metric("callback", name), called.set()))
        await called.wait()
        async with asyncio.Lock():
            return current_scope().context.get("name", "nobody")
