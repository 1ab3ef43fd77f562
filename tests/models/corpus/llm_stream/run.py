"""A language model whose tokens a client reads as they come."""

from typing import Iterator

from cog import BaseRunner, ConcatenateIterator, Input, streaming


class Model:
    def __init__(self, path: str) -> None:
        with open(path) as file:
            self.words = file.read().split()

    def generate(self, prompt: str, count: int, stop: str) -> Iterator[str]:
        state = sum(prompt.encode())
        for _ in range(count):
            state = (state * 5 + 3) % len(self.words)
            if self.words[state] == stop:
                return
            yield self.words[state] + " "


class Runner(BaseRunner):
    def setup(self) -> None:
        self.model = Model("vocabulary.txt")

    @streaming
    def run(
        self,
        prompt: str,
        max_tokens: int = Input(default=6, ge=1, le=64),
        stop: str = "",
    ) -> ConcatenateIterator[str]:
        count = 0
        for token in self.model.generate(prompt, max_tokens, stop):
            count += 1
            yield token
        self.record_metric("tokens", count)
        print(f"Generated {count} tokens")
