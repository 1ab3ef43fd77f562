"""A language model behind an async engine, as with vLLM: an engine task batches what several requests ask."""

import asyncio
from typing import Any

from cog import AsyncConcatenateIterator, BaseRunner, Input, current_scope, streaming


class Engine:
    """One task makes a token for every request in turn; each request reads its own queue."""

    def __init__(self) -> None:
        self.requests: dict[int, tuple[asyncio.Queue[Any], list[str]]] = {}
        self.wake = asyncio.Event()
        self.task = asyncio.create_task(self.loop())
        self.serial = 0

    async def loop(self) -> None:
        while True:
            await self.wake.wait()
            for number, (queue, tokens) in list(self.requests.items()):
                queue.put_nowait(tokens.pop(0) if tokens else None)
                if not tokens:
                    queue.put_nowait(None)
                    del self.requests[number]
            if not self.requests:
                self.wake.clear()
            await asyncio.sleep(0)

    async def generate(self, prompt: str, count: int):
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self.serial += 1
        self.requests[self.serial] = queue, (prompt.split() * count)[:count]
        self.wake.set()
        while (token := await queue.get()) is not None:
            yield token


class Runner(BaseRunner):
    async def setup(self) -> None:
        self.engine = Engine()

    @streaming
    async def run(self, prompt: str, max_tokens: int = Input(default=4, ge=0, le=100)) -> AsyncConcatenateIterator[str]:
        async for token in self.engine.generate(prompt, max_tokens):
            current_scope().record_metric("tokens", 1, "incr")
            yield token + " "
