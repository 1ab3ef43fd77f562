"""Decodes step by step. A step of n sequences sleeps STEP_US + n * ITEM_US microseconds.

The output is how many steps there were until the end, and how many until the first token came.
"""

import os
from collections.abc import AsyncIterator

import cog
from engine import Engine

engine = Engine(int(os.environ["STEP_US"]), int(os.environ["ITEM_US"]))


class Base(cog.BaseRunner):
    @cog.batch(max_size=32)
    def decode(self, sequence: list[int]) -> list[int]:
        return engine.step(sequence)


class Async(Base):
    @cog.concurrent(max=32)
    async def run(self, tokens: int) -> list[int]:
        token, before, first = 0, engine.steps, 0
        for _ in range(tokens):
            token = await self.decode(token)
            first = first or engine.steps - before
        return [engine.steps, first]


class Stream(Base):
    @cog.concurrent(max=32)
    async def run(self, tokens: int) -> AsyncIterator[int]:
        token = 0
        for _ in range(tokens):
            token = await self.decode(token)
            yield engine.steps


class Threads(Base):
    @cog.concurrent(max=32)
    def run(self, tokens: int) -> list[int]:
        token, before, first = 0, engine.steps, 0
        for _ in range(tokens):
            token = self.decode(token)
            first = first or engine.steps - before
        return [engine.steps, first]
