"""For the long runs: says which prediction it was, and writes down that it ran."""

import asyncio
import os
import time

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.file = os.open("ran.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def run(self, token: str, wait: float = 0) -> dict:
        os.write(self.file, (token + "\n").encode())
        if wait:
            time.sleep(wait)
        return {"token": token, "pid": os.getpid()}


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
