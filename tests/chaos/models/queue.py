"""Yields three outputs, and writes each of its runs into ran.txt."""

import asyncio
import os
from collections.abc import AsyncIterator

from cog import BaseRunner, Input, streaming


class Runner(BaseRunner):
    async def setup(self) -> None:
        self.ledger = os.open("ran.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    @streaming
    async def run(self, token: str, n: int = Input(default=0, le=10), seconds: float = 0.003) -> AsyncIterator[str]:
        os.write(self.ledger, f"{token}\n".encode())  # one write: lines do not mix
        for i in range(3):
            yield f"{token} {i}"
            await asyncio.sleep(seconds / 3)
