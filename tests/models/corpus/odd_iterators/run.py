"""Functions that return no iterator though they say so."""

from typing import Any

from cog import AsyncConcatenateIterator, BaseRunner


class Runner(BaseRunner):
    async def run(self, what: str) -> AsyncConcatenateIterator[str]:
        async def later() -> Any:
            yield "a"
            yield "b"

        values = {"async": later(), "sync": iter("ab"), "list": ["a", "b"], "one": "ab", "nothing": None}
        return values[what]
