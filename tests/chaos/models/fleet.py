"""Writes each of its runs into a ledger, and returns which run it was."""

import asyncio
import os
import uuid

from cog import BaseRunner


class Runner(BaseRunner):
    async def setup(self) -> None:
        self.ledger = os.open("ledger.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def run(self, token: str, seconds: float = 0) -> str:
        run = f"{token} {uuid.uuid4().hex}"
        os.write(self.ledger, f"{run}\n".encode())  # one write: the lines of several servers do not mix
        await asyncio.sleep(seconds)
        return run
