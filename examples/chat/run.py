"""A small language model whose steps are batched: sequences join and leave between two words."""

import threading
from collections.abc import AsyncIterator

import cog
from cog import BaseRunner, Input
from model import Model, Sequence

ACTIVE = 16  # sequences that run at once; others wait in the queue


class Runner(BaseRunner):
    def setup(self) -> None:
        self.model = Model(ACTIVE)
        self.free = list(range(ACTIVE))
        self.lock = (
            threading.Lock()
        )  # a row may have a new sequence while a step of its last one runs

    @cog.batch(max_size=ACTIVE, max_cost=512, cost="length")
    def prefill(self, sequence: list[Sequence]) -> list[int]:
        """Take prompts into the cache, and return the first word of each."""
        with self.lock:
            for each in sequence:
                self.model.clear(each.row)
            return self.model.step(sequence)

    @cog.batch(max_size=ACTIVE)
    def decode(self, sequence: list[Sequence]) -> list[int]:
        """Return the next word of each sequence."""
        with self.lock:
            return self.model.step(sequence)

    @cog.openai("chat")
    @cog.concurrent(max=ACTIVE)
    async def run(
        self,
        messages: list[dict],
        temperature: float = Input(default=0.7, ge=0, le=2),
        max_tokens: int = Input(default=64, ge=1, le=4096),
        seed: int | None = None,
    ) -> AsyncIterator[str]:
        texts = [str(message["content"]) for message in messages]
        self.record_metric("input_token_count", sum(len(text.split()) for text in texts))
        row = min(self.free)
        self.free.remove(row)
        try:
            sequence = Sequence(row, self.model.encode(" ".join(texts)), temperature, seed)
            word = await self.prefill(sequence)
            for n in range(max_tokens):
                self.record_metric("output_token_count", n + 1)
                yield " " * bool(n) + self.model.words[word]
                if n + 1 < max_tokens:
                    sequence.words = [word]
                    word = await self.decode(sequence)
        finally:
            self.free.append(row)
