"""A batched function, and methods that are batched between the steps of predictions.

A checker sees Any for what is batched: a call of `decode` brings one element, is awaited in async
code and blocks in threads, and `run` is called with lists in a test. Bodies and options are checked
as usual.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import cog


class Sequence:
    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens


class Runner(cog.BaseRunner):
    @cog.batch(max_size=8, max_cost=4096, cost=lambda sequence: len(sequence.tokens))
    def prefill(self, sequence: list[Sequence]) -> list[int]:
        return [each.tokens[-1] for each in sequence]

    @cog.batch(max_size=32, concurrent=2, isolate=True, max_wait_ms=1.5)
    async def decode(self, sequence: list[Sequence], greedy: bool = True) -> list[int]:
        return [each.tokens[-1] + greedy for each in sequence]

    @cog.concurrent(max=32)
    async def run(self, prompt: str, count: int = 8) -> AsyncIterator[int]:
        sequence = Sequence([len(prompt)])
        token: int = await self.prefill(sequence)
        for _ in range(count):
            yield token
            token = await self.decode(sequence, greedy=False)


class Batched(cog.BaseRunner):
    @cog.batch(max_size=32)
    def run(self, text: list[str], times: int = 1) -> list[str]:
        return [each * times for each in text]


def in_a_test() -> str:
    texts: list[str] = Batched().run(["a"], times=2)
    return texts[0]


@cog.batch(max_size="4")  # type: ignore
def wrong_size(text: list[str]) -> list[str]:
    return text


@cog.batch  # type: ignore
def without_options(text: list[str]) -> list[str]:
    return text


@cog.batch(max_size=4, cost=4)  # type: ignore
def wrong_cost(text: list[str]) -> list[int]:
    return text  # type: ignore
