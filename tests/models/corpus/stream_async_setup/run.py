"""A synchronous generator beside an async setup: both are on the loop's thread."""

import asyncio
from typing import Iterator

from cog import BaseRunner, Path, streaming


class Runner(BaseRunner):
    async def setup(self) -> None:
        await asyncio.sleep(0)
        self.words = ["one", "two", "three"]

    @streaming
    def run(self, count: int = 3, same_file: bool = False) -> Iterator[Path]:
        for number in range(count):
            path = Path("same.txt" if same_file else f"{number}.txt")
            path.write_text(self.words[number])
            yield path
