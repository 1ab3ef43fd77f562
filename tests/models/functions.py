"""Models with several functions over one object."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import cog


class Shared(cog.BaseRunner):
    """What the synchronous ones share."""

    def setup(self) -> None:
        self.calls: list[str] = []
        self.inside = 0
        self.most = 0

    @cog.function
    def embed(self, texts: list[str], wait: float = 0) -> list[int]:
        """Return the length of each text."""
        self.calls.append("embed")
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(wait)
        self.inside -= 1
        return [len(text) for text in texts]

    @cog.function(name="search-v2")
    def search(self, q: str, k: int = cog.Input(default=2, ge=1, le=9)) -> list[str]:
        return [f"{q}{i}" for i in range(k)]

    @cog.streaming
    @cog.function
    def words(self, text: str) -> Iterator[str]:
        yield from text.split()

    @cog.function
    def seen(self) -> dict:
        return {"calls": self.calls, "most": self.most}

    @cog.function
    def fail(self, secret: cog.Secret) -> str:
        raise ValueError("as asked")

    @cog.function
    def length(self, file: cog.Path) -> cog.Path:
        out = Path("length.txt")
        out.write_text(str(len(file.read_bytes())))
        return cog.Path(out)

    @cog.function(name="predict")
    def other(self, text: str) -> str:
        return "predict " + text


class Sync(Shared):
    @cog.example(text="warm")
    def run(self, text: str) -> str:
        self.calls.append("run")
        return text.upper()


class Threads(Shared):
    @cog.concurrent(max=4)
    def run(self, text: str) -> str:
        return text.upper()


class NoRun(Shared):
    """Functions alone."""


class Batched(Shared):
    """A run and a function with batches, beside functions without."""

    @cog.batch(max_size=4, max_wait_ms=200)
    def run(self, text: list[str]) -> list[str]:
        return [f"{one} of {len(text)}" for one in text]

    @cog.batch(max_size=2, max_wait_ms=200)
    @cog.function
    def count(self, text: list[str], scale: int = 1) -> list[str]:
        if "bad" in text:
            raise ValueError("bad")
        return [f"{len(one) * scale} of {len(text)}" for one in text]


class Staged(Batched):
    """The same with a preprocess of run."""

    def preprocess(self, text: str) -> str:
        return text + "!"


class OnlyFunctionBatched(Sync):
    @cog.batch(max_size=3, max_wait_ms=200)
    @cog.function
    def count(self, text: list[str], scale: int = 1) -> list[str]:
        return [f"{len(one) * scale} of {len(text)}" for one in text]


class Async(cog.BaseRunner):
    async def setup(self) -> None:
        self.calls: list[str] = []

    @cog.concurrent(max=8)
    async def run(self, text: str) -> str:
        self.calls.append("run")
        return text.upper()

    @cog.function
    async def embed(self, texts: list[str], wait: float = 0) -> list[int]:
        self.calls.append("embed")
        await asyncio.sleep(wait)
        return [len(text) for text in texts]

    @cog.function(name="search-v2")
    async def search(self, q: str, k: int = cog.Input(default=2, ge=1, le=9)) -> list[str]:
        return [f"{q}{i}" for i in range(k)]

    @cog.streaming
    @cog.function
    async def words(self, text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    @cog.function
    async def seen(self) -> dict:
        return {"calls": self.calls, "threads": threading.active_count()}

    @cog.function
    async def fail(self, secret: cog.Secret) -> str:
        raise ValueError("as asked")


class AsyncBatched(Async):
    @cog.batch(max_size=4, max_wait_ms=200)
    async def run(self, text: list[str]) -> list[str]:
        return [f"{one} of {len(text)}" for one in text]

    @cog.batch(max_size=2, max_wait_ms=200)
    @cog.function
    async def count(self, text: list[str], scale: int = 1) -> list[str]:
        return [f"{len(one) * scale} of {len(text)}" for one in text]
