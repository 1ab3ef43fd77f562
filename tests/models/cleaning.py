"""Models that take their time to clean up after a cancel, and say how it went."""

import asyncio
import time
from typing import AsyncIterator, Iterator

from cog import BaseRunner, batch


def wait(wanted: bool) -> None:
    if not wanted:
        return
    print("begun")
    try:
        time.sleep(1000)
    finally:
        for _ in range(8):
            time.sleep(0.1)
        print("clean")


async def wait_async(wanted: bool) -> None:
    if not wanted:
        return
    print("begun")
    try:
        await asyncio.sleep(1000)
    finally:
        for _ in range(8):
            await asyncio.sleep(0.1)
        print("clean")


class Plain(BaseRunner):
    def run(self, wanted: bool = True) -> str:
        wait(wanted)
        return "done"


class Stream(BaseRunner):
    def run(self, wanted: bool = True) -> Iterator[str]:
        yield "first"
        wait(wanted)


class Task(BaseRunner):
    async def run(self, wanted: bool = True) -> str:
        await wait_async(wanted)
        return "done"


class Blocking(BaseRunner):
    async def run(self, wanted: bool = True) -> str:
        wait(wanted)
        return "done"


class TaskStream(BaseRunner):
    async def run(self, wanted: bool = True) -> AsyncIterator[str]:
        yield "first"
        await wait_async(wanted)


class Batch(BaseRunner):
    @batch(max_size=4)
    def run(self, wanted: list[bool]) -> list[str]:
        wait(wanted[0])
        return ["done"] * len(wanted)


class TaskBatch(BaseRunner):
    @batch(max_size=4)
    async def run(self, wanted: list[bool]) -> list[str]:
        await wait_async(wanted[0])
        return ["done"] * len(wanted)
