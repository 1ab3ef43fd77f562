"""Iterators, decorators, scopes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from cog import (
    AsyncConcatenateIterator,
    BaseRunner,
    CancelationException,
    ConcatenateIterator,
    Path,
    Secret,
    concurrent,
    current_scope,
    streaming,
)


class Tokens(BaseRunner):
    @streaming
    def run(self, prompt: str, key: Secret) -> ConcatenateIterator[str]:
        value: str | None = key.get_secret_value()
        self.record_metric("tokens", len(prompt), mode="incr")
        yield from prompt.split(value)


class Frames(BaseRunner):
    @streaming()
    def run(self, count: int) -> Iterator[Path]:
        try:
            for number in range(count):
                yield Path(f"{number}.png")
        except CancelationException:
            self.scope.metrics["canceled"] = True
            raise


class AsyncTokens(BaseRunner):
    @concurrent(max=4)
    @streaming
    async def run(self, prompt: str) -> AsyncConcatenateIterator[str]:
        user: str = current_scope().context.get("user", "")
        yield prompt + user

    async def other(self) -> AsyncIterator[str]:
        async for token in self.run("x"):
            yield token


def use() -> list[str]:
    return list(Tokens().run("a b", Secret("x")))
