"""Generates tokens with a tiny transformer in PyTorch. Prompts and steps are batches of two methods."""

import threading
from collections.abc import AsyncIterator

import cog
import torch
from cog import BaseRunner, Input
from transformer import LONGEST, TOKENS, Sequence, Transformer

ACTIVE = 16  # sequences that run at once; others wait in the queue


class Runner(BaseRunner):
    def setup(self) -> None:
        torch.manual_seed(1)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = Transformer().eval().to(self.device)
        self.lock = (
            threading.Lock()
        )  # prompts and steps in turn: together they would slow each other

    @cog.batch(max_size=ACTIVE, max_cost=1024, cost="length")
    def prefill(self, sequence: list[Sequence]) -> list[int]:
        """Take prompts into their caches, 1024 tokens at once, and return the first token of each."""
        with self.lock:
            return self.model.step(sequence)

    @cog.batch(max_size=ACTIVE)
    def decode(self, sequence: list[Sequence]) -> list[int]:
        """Return the next token of each sequence."""
        with self.lock:
            return self.model.step(sequence)

    @cog.concurrent(max=ACTIVE)
    async def run(
        self,
        prompt: list[int] = Input(description=f"Numbers of tokens, 0 to {TOKENS - 1}"),
        max_tokens: int = Input(default=32, ge=1, le=256),
    ) -> AsyncIterator[int]:
        if not 1 <= len(prompt) <= LONGEST - max_tokens:
            raise ValueError(f"a prompt of 1 to {LONGEST - max_tokens} tokens is expected")
        if not all(0 <= token < TOKENS for token in prompt):
            raise ValueError(f"tokens are numbers from 0 to {TOKENS - 1}")
        sequence = Sequence(list(prompt))
        token = await self.prefill(sequence)
        for left in reversed(range(max_tokens)):
            sequence.tokens.append(token)
            yield token
            if left:
                token = await self.decode(sequence)
