"""Tokens at the pace of a language model, on an event loop: a sleep, then one token."""

import asyncio
from collections.abc import AsyncIterator

import cog
from cog import BaseRunner, concurrent


class Runner(BaseRunner):
    @cog.openai("chat")
    @concurrent(max=256)
    async def run(
        self, messages: list[dict], max_tokens: int = 100, pace: float = 0.02
    ) -> AsyncIterator[str]:
        for _ in range(max_tokens):
            await asyncio.sleep(pace)
            yield "token "
