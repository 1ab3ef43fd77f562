"""A function that hands on a generator, and does not say so."""

from collections.abc import Iterator
from typing import Any

from cog import BaseRunner


class Runner(BaseRunner):
    async def run(self, what: str) -> Any:
        def words() -> Iterator[Any]:
            print("first")
            yield "a"
            if what == "failing":
                raise ValueError("no second")
            print("second")
            yield {"b": (1, 2)}

        return {"nested": words()} if what == "nested" else words()
