"""Decodes step by step. A step of n sequences sleeps STEP_US + n * ITEM_US microseconds."""

import os

import cog
from engine import Engine

engine = Engine(int(os.environ["STEP_US"]), int(os.environ["ITEM_US"]))


class Base(cog.BaseRunner):
    @cog.batch(max_size=32)
    def decode(self, sequence: list[int]) -> list[int]:
        return engine.step(sequence)


class Async(Base):
    @cog.concurrent(max=32)
    async def run(self, tokens: int) -> int:
        token = 0
        for _ in range(tokens):
            token = await self.decode(token)
        return engine.steps


class Threads(Base):
    @cog.concurrent(max=32)
    def run(self, tokens: int) -> int:
        token = 0
        for _ in range(tokens):
            token = self.decode(token)
        return engine.steps
