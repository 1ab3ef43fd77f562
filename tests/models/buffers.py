"""Models whose answers say whose they are: each repeats a mark up to a size."""

from collections.abc import Iterator

import cog
from cog import BaseRunner, Path


def made(text: str) -> str:
    mark, size = text.split(":")
    return (mark * (int(size) // len(mark) + 1))[: int(size)]


class Text(BaseRunner):
    def run(self, text: str) -> str:
        return made(text)


class Words(BaseRunner):
    def run(self, text: str) -> Iterator[str]:
        yield made(text)


class File(BaseRunner):
    def run(self, text: str) -> Path:
        out = Path("out.txt")
        out.write_text(made(text))
        return out


class Chat(BaseRunner):
    @cog.openai("chat")
    def run(self, messages: list[dict]) -> str:
        return made(messages[-1]["content"])


class Tokens(BaseRunner):
    @cog.openai("chat")
    def run(self, messages: list[dict]) -> Iterator[str]:
        yield made(messages[-1]["content"])


class Completions(BaseRunner):
    @cog.openai("completions")
    def run(self, prompt: str) -> str:
        return made(prompt)


class Rerank(BaseRunner):
    @cog.openai("rerank")
    def run(self, query: str, documents: list[str]) -> list[float]:
        return [1.0 for _ in documents]


class Embeddings(BaseRunner):
    @cog.openai("embeddings")
    def run(self, input: str) -> list[float]:
        number, size = input.split(":")
        return [float(number)] * (int(size) // (len(number) + 1))
