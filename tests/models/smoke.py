"""A model of each kind, for a Python that is not tested in full. All know the same few things to do."""

import os
import time
from collections.abc import AsyncIterator, Iterator

import cog
import numpy as np
from cog import BaseRunner, Path
from numpy.typing import NDArray


def act(do: str) -> str:
    print("doing", do)
    if do == "raise":
        raise ValueError("as asked")
    if do == "sleep":
        time.sleep(1000)
    if do == "die":
        os._exit(3)
    return do


async def act_async(do: str) -> str:
    import asyncio

    if do == "sleep":
        print("doing", do)
        await asyncio.sleep(1000)
    return act(do)


class Sync(BaseRunner):
    def setup(self) -> None:
        print("set up")

    def run(self, do: str) -> str:
        return act(do)


class Async(BaseRunner):
    async def run(self, do: str) -> str:
        return await act_async(do)


class Generator(BaseRunner):
    @cog.streaming
    def run(self, do: str) -> Iterator[str]:
        yield "first"
        yield act(do)


class AsyncGenerator(BaseRunner):
    @cog.streaming
    async def run(self, do: str) -> AsyncIterator[str]:
        yield "first"
        yield await act_async(do)


class Batch(BaseRunner):
    @cog.batch(max_size=4)
    def run(self, do: list[str]) -> list[str]:
        return [act(one) for one in do]


class AsyncBatch(BaseRunner):
    @cog.batch(max_size=4)
    async def run(self, do: list[str]) -> list[str]:
        return [await act_async(one) for one in do]


class Prepared(BaseRunner):
    def preprocess(self, do: str) -> str:
        return do.upper()

    @cog.batch(max_size=4)
    def run(self, items: list) -> list:
        return [act(item.lower()) for item in items]

    def postprocess(self, output: str) -> str:
        return output


def run(do: str) -> str:
    return act(do)


def train(do: str) -> str:
    return act(do)


class Values(BaseRunner):
    def run(self, array: NDArray[np.float32], file: Path) -> Path:
        out = Path("out.txt")
        out.write_text(f"{file.read_text()} {array.sum()}")
        return out
